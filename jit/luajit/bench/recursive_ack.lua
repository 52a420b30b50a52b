-- SPDX-License-Identifier: MIT
-- Ackermann's function of 3 and the size: calls and nothing else.

local function ack(m, n)
	if m == 0 then return n + 1 end
	if n == 0 then return ack(m - 1, 1) end
	return ack(m - 1, ack(m, n - 1))
end

return {
	size = 8,
	quick = 5,
	expected = { [5] = 253, [8] = 2045 },
	run = function(size) return ack(3, size) end,
}
