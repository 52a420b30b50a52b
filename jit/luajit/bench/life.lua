-- SPDX-License-Identifier: MIT
-- Conway's Game of Life on a torus: a glider gun and an R-pentomino.

local WIDTH, HEIGHT = 64, 40
local GUN = {
	"........................#", "......................#.#", "............##......##............##",
	"...........#...#....##............##", "##........#.....#...##", "##........#...#.##....#.#",
	"..........#.....#.......#", "...........#...#", "............##",
}
local PENTOMINO = { ".##", "##.", ".#." }

local function new_field()
	local field = {}
	for y = 1, HEIGHT do
		local row = {}
		for x = 1, WIDTH do row[x] = 0 end
		field[y] = row
	end
	return field
end

local function spawn(field, pattern, left, top)
	for y = 1, #pattern do
		for x = 1, #pattern[y] do
			if pattern[y]:sub(x, x) == "#" then field[top + y][left + x] = 1 end
		end
	end
end

local function evolve(from, to)
	local above, row = from[HEIGHT], from[1]
	for y = 1, HEIGHT do
		local below, target = from[y % HEIGHT + 1], to[y]
		local before, here = WIDTH, 1
		for x = 1, WIDTH do
			local after = x % WIDTH + 1
			local around = above[before] + above[here] + above[after] + row[before] + row[after]
				+ below[before] + below[here] + below[after]
			target[x] = (around == 3 or around == 2 and row[x] == 1) and 1 or 0
			before, here = x, after
		end
		above, row = row, below
	end
end

local function draw(field)
	local lines = {}
	for y = 1, HEIGHT do
		local line = {}
		for x = 1, WIDTH do line[x] = field[y][x] == 1 and "O" or "-" end
		lines[y] = table.concat(line)
	end
	return table.concat(lines, "\n")
end

return {
	size = 200,
	quick = 20,
	expected = { [20] = 7067075, [200] = 13544283 },
	run = function(size)
		local now, next_one = new_field(), new_field()
		spawn(now, GUN, 2, 2)
		spawn(now, PENTOMINO, 45, 25)
		local sum = 0
		for generation = 1, size do
			evolve(now, next_one)
			now, next_one = next_one, now
			if generation % 10 == 0 then
				local picture = draw(now)
				for at = 1, #picture do sum = (sum * 31 + picture:byte(at)) % 16777213 end
			end
		end
		return sum
	end,
}
