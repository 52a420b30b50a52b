-- SPDX-License-Identifier: MIT
-- table.sort() with comparisons written in Lua, of numbers, and of records by two fields.

local function by_value(a, b) return a > b end

local function by_fields(a, b)
	if a.group ~= b.group then return a.group < b.group end
	return a.key < b.key
end

return {
	size = 2000,
	quick = 200,
	expected = { [200] = 12139662, [2000] = 10101057 },
	run = function(size)
		local numbers, records, seed = {}, {}, 42
		for i = 1, size do
			seed = (seed * 16807) % 2147483647
			numbers[i] = seed
			records[i] = { group = seed % 17, key = seed }
		end
		table.sort(numbers, by_value)
		table.sort(records, by_fields)
		local sum = 0
		for i = 1, size do
			assert(i == 1 or not by_value(numbers[i], numbers[i - 1]), "numbers are not sorted")
			assert(i == 1 or not by_fields(records[i], records[i - 1]), "records are not sorted")
			sum = (sum * 31 + numbers[i] + 7 * records[i].key) % 16777213
		end
		return sum
	end,
}
