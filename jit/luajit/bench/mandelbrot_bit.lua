-- SPDX-License-Identifier: MIT
-- The Mandelbrot set as a picture of one bit a pixel, put together by the bit library.

local bit = require("bit")
local bor, bxor, rol, tobit = bit.bor, bit.bxor, bit.rol, bit.tobit

local LIMIT = 50

local function inside(cr, ci)
	local zr, zi, zr2, zi2 = 0, 0, 0, 0
	for _ = 1, LIMIT do
		zi = 2 * zr * zi + ci
		zr = zr2 - zi2 + cr
		zr2, zi2 = zr * zr, zi * zi
		if zr2 + zi2 > 4 then return 0 end
	end
	return 1
end

return {
	size = 160,
	quick = 24,
	expected = { [24] = 985885759268, [160] = 43775463298295 },
	run = function(size)
		local sum, count = 0, 0
		for y = 0, size - 1 do
			local ci, byte = 2 * y / size - 1, 0
			for x = 0, size - 1 do
				local one = inside(2 * x / size - 1.5, ci)
				count = count + one
				byte = bor(rol(byte, 1), one)
				if x % 8 == 7 or x == size - 1 then
					sum = bxor(rol(sum, 5), tobit(byte * 2654435))
					byte = 0
				end
			end
		end
		return count * 4294967296 + (sum % 4294967296)
	end,
}
