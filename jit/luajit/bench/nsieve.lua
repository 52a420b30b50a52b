-- SPDX-License-Identifier: MIT
-- The sieve of Eratosthenes with a table of booleans, up to the size, its half and its quarter.

local function primes(limit)
	local composite, count = {}, 0
	for i = 2, limit do composite[i] = false end
	for i = 2, limit do
		if not composite[i] then
			count = count + 1
			for multiple = i + i, limit, i do composite[multiple] = true end
		end
	end
	return count
end

return {
	size = 200000,
	quick = 8000,
	expected = { [8000] = 1007 + 550 + 303, [200000] = 17984 + 9592 + 5133 },
	run = function(size) return primes(size) + primes(size / 2) + primes(size / 4) end,
}
