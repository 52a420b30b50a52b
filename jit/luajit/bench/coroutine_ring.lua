-- SPDX-License-Identifier: MIT
-- A token goes round a ring of coroutines.

local create, resume, yield = coroutine.create, coroutine.resume, coroutine.yield
local MEMBERS = 503

local function member(id)
	local token = yield()
	while true do token = yield(token - 1, id) end
end

return {
	size = 50000,
	quick = 2000,
	expected = { [2000] = 8239024978, [50000] = 3411890741 },
	run = function(size)
		local ring = {}
		for i = 1, MEMBERS do
			ring[i] = create(member)
			resume(ring[i], i)
		end
		local token, at, id, sum = size, 1, 0, 0
		while token > 0 do
			local _
			_, token, id = resume(ring[at], token)
			at = at % MEMBERS + 1
			sum = (sum * 31 + id) % 16777213
		end
		return id * 16777216 + sum
	end,
}
