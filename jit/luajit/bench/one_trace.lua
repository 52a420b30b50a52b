-- SPDX-License-Identifier: MIT
-- One loop, which becomes one trace: what others are held against.

return {
	size = 1000,
	quick = 1000,
	expected = { [1000] = 500500 },
	run = function(size)
		local sum = 0
		for i = 1, size do sum = sum + i end
		return sum
	end,
}
