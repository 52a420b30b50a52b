-- SPDX-License-Identifier: MIT
-- DNA sequences: one repeated, two drawn at random. The choice of a letter is a tree of comparisons, which is
-- compiled from source in each round: so each round has new functions, and new traces.

local ALU = "GGCCGGGCGCGGTGGCTCACGCCTGTAATCCCAGCACTTTGG" .. "GAGGCCGAGGCGGGCGGATCACCTGAGGTCAGGAGTTCGAGA"
	.. "CCAGCCTGGCCAACATGGTGAAACCCCGTCTCTACTAAAAAT" .. "ACAAAAATTAGCCGGGCGTGGTGGCGCGCGCCTGTAATCCCA"
	.. "GCTACTCGGGAGGCTGAGGCAGGAGAATCGCTTGAACCCGGG" .. "AGGCGGAGGTTGCAGTGAGCCGAGATCGCGCCACTGCACTCC"
	.. "AGCCTGGGCGACAGAGCGAGACTCCGTCTCAAAAA"
local IUB = {
	{ "a", 0.27 }, { "c", 0.12 }, { "g", 0.12 }, { "t", 0.27 }, { "B", 0.02 }, { "D", 0.02 }, { "H", 0.02 },
	{ "K", 0.02 }, { "M", 0.02 }, { "N", 0.02 }, { "R", 0.02 }, { "S", 0.02 }, { "V", 0.02 }, { "W", 0.02 },
	{ "Y", 0.02 },
}
local HOMO = {
	{ "a", 0.3029549426680 }, { "c", 0.1979883004921 }, { "g", 0.1975473066391 }, { "t", 0.3015094502008 },
}
local WIDTH = 60

local sum

local function put(line)
	for i = 1, #line do
		sum = (sum * 31 + line:byte(i)) % 16777213
	end
end

local function repeated(title, text, count)
	put(title)
	local twice, at, length = text .. text, 1, #text
	while count > 0 do
		local width = math.min(count, WIDTH)
		put(twice:sub(at, at + width - 1))
		at = (at + width - 1) % length + 1
		count = count - width
	end
end

-- Source of a tree that decides between letters `first` to `last`.
local function tree(letters, limits, first, last)
	if first == last then
		return ("return %q"):format(letters[first])
	end
	local middle = math.floor((first + last) / 2)
	return ("if r < %.17g then %s else %s end"):format(
		limits[middle], tree(letters, limits, first, middle), tree(letters, limits, middle + 1, last))
end

local function chooser(frequencies)
	local letters, limits, total = {}, {}, 0
	for i = 1, #frequencies do
		total = total + frequencies[i][2]
		letters[i], limits[i] = frequencies[i][1], total
	end
	return load(([[
		local seed, concat = ...
		local function choose(r) %s end
		return function(buffer, width)
			for i = 1, width do
				seed = (seed * 3877 + 29573) %% 139968
				buffer[i] = choose(seed / 139968)
			end
			return concat(buffer, "", 1, width), seed
		end
	]]):format(tree(letters, limits, 1, #letters)))
end

local function random(title, frequencies, count, seed)
	put(title)
	local line = chooser(frequencies)(seed, table.concat)
	local buffer, text = {}, nil
	while count > 0 do
		local width = math.min(count, WIDTH)
		text, seed = line(buffer, width)
		put(text)
		count = count - width
	end
	return seed
end

return {
	size = 4000,
	quick = 400,
	expected = { [400] = 13618886, [4000] = 12854627 },
	run = function(size)
		sum = 0
		repeated(">ONE Homo sapiens alu", ALU, size * 2)
		local seed = random(">TWO IUB ambiguity codes", IUB, size * 3, 42)
		random(">THREE Homo sapiens frequency", HOMO, size * 5, seed)
		return sum
	end,
}
