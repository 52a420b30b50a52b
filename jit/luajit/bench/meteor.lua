-- SPDX-License-Identifier: MIT
-- The Meteor puzzle: ten pieces of five hexagons each fill a board of 50. Depth first, always at the first free cell; a
-- board is two words of 25 bits. The size is how many solutions are looked for; there are 2098.

local bit = require("bit")
local band, bor, lshift = bit.band, bit.bor, bit.lshift

local WIDTH, HEIGHT, HALF = 5, 10, 25
-- As steps from one cell to the next, in one of six directions.
local PIECES = {
	{ 0, 0, 0, 1 }, { 1, 0, 0, 5 }, { 0, 0, 1, 2 }, { 0, 0, 2, 1 }, { 1, 0, 5, 2, 1 },
	{ 0, 0, 2, 0 }, { 0, 1, 1, 5 }, { 0, 1, 1, 3 }, { 0, 1, 0, 0 }, { 0, 0, 0, 2 },
}

-- Odd rows are half a cell further right. 0 is east, then clockwise.
local function step(x, y, direction)
	local odd = y % 2
	if direction == 0 then return x + 1, y end
	if direction == 3 then return x - 1, y end
	local down = direction < 3
	local east = direction == 1 or direction == 5
	return x + (east and odd or odd - 1), y + (down and 1 or -1)
end

local function masks(cells)
	local low, high = 0, 0
	for i = 1, #cells do
		local cell = cells[i]
		if cell < HALF then low = bor(low, lshift(1, cell)) else high = bor(high, lshift(1, cell - HALF)) end
	end
	return low, high
end

-- Where a piece that is turned and mirrored lies when it starts at a cell, or nil if that is off the board.
local function lay(piece, turn, mirror, x, y)
	local cells, seen = { y * WIDTH + x }, { [y * WIDTH + x] = true }
	for i = 1, #piece do
		local direction = piece[i]
		if mirror then direction = (6 - direction) % 6 end
		x, y = step(x, y, (direction + turn) % 6)
		if x < 0 or y < 0 or x >= WIDTH or y >= HEIGHT then return nil end
		local cell = y * WIDTH + x
		if not seen[cell] then
			seen[cell] = true
			cells[#cells + 1] = cell
		end
	end
	return cells
end

local function first_of(cells)
	local first = cells[1]
	for i = 2, #cells do first = math.min(first, cells[i]) end
	return first
end

-- A hole whose size is no multiple of five can never be filled.
local function has_bad_hole(cells)
	local taken = {}
	for i = 1, #cells do taken[cells[i]] = true end
	for start = 0, WIDTH * HEIGHT - 1 do
		if not taken[start] then
			local found, at = { start }, 1
			taken[start] = true
			while at <= #found do
				local x, y = found[at] % WIDTH, math.floor(found[at] / WIDTH)
				for direction = 0, 5 do
					local nx, ny = step(x, y, direction)
					local cell = ny * WIDTH + nx
					if nx >= 0 and ny >= 0 and nx < WIDTH and ny < HEIGHT and not taken[cell] then
						taken[cell] = true
						found[#found + 1] = cell
					end
				end
				at = at + 1
			end
			if #found % 5 ~= 0 then return true end
		end
	end
	return false
end

-- places[cell][piece] is a list: low, high, low, high, ...
local function make_places()
	local places, known = {}, {}
	for cell = 0, WIDTH * HEIGHT - 1 do
		places[cell] = {}
		for piece = 1, #PIECES do places[cell][piece] = {} end
	end
	for piece = 1, #PIECES do
		for turn = 0, 5 do
			for mirrored = 0, 1 do
				for start = 0, WIDTH * HEIGHT - 1 do
					local cells = lay(PIECES[piece], turn, mirrored == 1, start % WIDTH, math.floor(start / WIDTH))
					if cells then
						local low, high = masks(cells)
						local id = (piece * 33554432 + low) * 33554432 + high
						if not known[id] and not has_bad_hole(cells) then
							known[id] = true
							local list = places[first_of(cells)][piece]
							list[#list + 1] = low
							list[#list + 1] = high
						end
					end
				end
			end
		end
	end
	return places
end

local FULL = lshift(1, HALF) - 1
local places, wanted, found, sum

local function solve(low, high, cell, used, depth)
	while true do
		local half, at = low, cell
		if cell >= HALF then half, at = high, cell - HALF end
		if band(half, lshift(1, at)) == 0 then break end
		cell = cell + 1
	end
	local here = places[cell]
	for piece = 1, 10 do
		local mark = lshift(1, piece)
		if band(used, mark) == 0 then
			local list = here[piece]
			for i = 1, #list, 2 do
				local l, h = list[i], list[i + 1]
				if band(low, l) == 0 and band(high, h) == 0 then
					local nl, nh = bor(low, l), bor(high, h)
					if depth == 10 then
						assert(nl == FULL and nh == FULL, "not full")
						found = found + 1
						sum = (sum * 31 + l + 7 * h + piece) % 16777213
					else
						solve(nl, nh, cell + 1, bor(used, mark), depth + 1)
					end
					if found == wanted then return end
				end
			end
		end
	end
end

return {
	size = 30,
	quick = 3,
	expected = { [3] = 56148496, [30] = 517612092 },
	run = function(size)
		places = places or make_places()
		wanted, found, sum = size, 0, 0
		solve(0, 0, 0, 0, 1)
		return found * 16777216 + sum
	end,
}
