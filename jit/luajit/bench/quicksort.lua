-- SPDX-License-Identifier: MIT
-- Quicksort of numbers, written out, with the middle one of three as pivot.

local function quicksort(a, low, high)
	while low < high do
		local middle = math.floor((low + high) / 2)
		local x, y, z = a[low], a[middle], a[high]
		local pivot = x < y and (y < z and y or (x < z and z or x)) or (x < z and x or (y < z and z or y))
		local i, j = low, high
		while i <= j do
			while a[i] < pivot do i = i + 1 end
			while a[j] > pivot do j = j - 1 end
			if i <= j then
				a[i], a[j] = a[j], a[i]
				i, j = i + 1, j - 1
			end
		end
		if j - low < high - i then
			quicksort(a, low, j)
			low = i
		else
			quicksort(a, i, high)
			high = j
		end
	end
end

return {
	size = 20000,
	quick = 2000,
	expected = { [2000] = 13431775, [20000] = 2829240 },
	run = function(size)
		local a, seed = {}, 42
		for i = 1, size do
			seed = (seed * 16807) % 2147483647
			a[i] = seed
		end
		quicksort(a, 1, size)
		local sum = 0
		for i = 1, size do
			assert(i == 1 or a[i - 1] <= a[i], "not sorted")
			sum = (sum * 31 + a[i]) % 16777213
		end
		return sum
	end,
}
