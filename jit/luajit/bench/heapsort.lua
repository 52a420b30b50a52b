-- SPDX-License-Identifier: MIT
-- Heapsort of fractions, in place.

local function sift(a, root, last)
	local value = a[root]
	while true do
		local child = 2 * root
		if child > last then break end
		if child < last and a[child] < a[child + 1] then child = child + 1 end
		if a[child] <= value then break end
		a[root] = a[child]
		root = child
	end
	a[root] = value
end

local function heapsort(a, count)
	for root = math.floor(count / 2), 1, -1 do sift(a, root, count) end
	for last = count, 2, -1 do
		a[1], a[last] = a[last], a[1]
		sift(a, 1, last - 1)
	end
end

return {
	size = 20000,
	quick = 2000,
	expected = { [2000] = 4893255, [20000] = 11173454 },
	run = function(size)
		local a, seed = {}, 42
		for i = 1, size do
			seed = (seed * 3877 + 29573) % 139968
			a[i] = seed / 139968
		end
		heapsort(a, size)
		local sum = 0
		for i = 1, size do
			assert(i == 1 or a[i - 1] <= a[i], "not sorted")
			sum = (sum * 31 + a[i] * 139968) % 16777213
		end
		return math.floor(sum + 0.5)
	end,
}
