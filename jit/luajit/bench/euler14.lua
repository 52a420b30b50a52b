-- SPDX-License-Identifier: MIT
-- The number below the size whose Collatz sequence is the longest, with a table of lengths that are known.

return {
	size = 100000,
	quick = 5000,
	expected = { [5000] = 3711, [100000] = 77031 },
	run = function(size)
		local known, best, longest = { 1 }, 1, 1
		for start = 2, size - 1 do
			local n, length = start, 0
			while n >= start do
				n = n % 2 == 0 and n / 2 or 3 * n + 1
				length = length + 1
			end
			length = length + known[n]
			known[start] = length
			if length > longest then best, longest = start, length end
		end
		return best
	end,
}
