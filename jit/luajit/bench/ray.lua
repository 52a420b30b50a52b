-- SPDX-License-Identifier: MIT
-- A ray tracer: spheres that carry smaller spheres, with shadows; the size is that of the picture in pixels.

local sqrt, huge, floor = math.sqrt, math.huge, math.floor

local function vector(x, y, z) return { x = x, y = y, z = z } end
local function add(a, b) return vector(a.x + b.x, a.y + b.y, a.z + b.z) end
local function sub(a, b) return vector(a.x - b.x, a.y - b.y, a.z - b.z) end
local function scaled(a, k) return vector(a.x * k, a.y * k, a.z * k) end
local function dot(a, b) return a.x * b.x + a.y * b.y + a.z * b.z end
local function unit(a) return scaled(a, 1 / sqrt(dot(a, a))) end

local Sphere, Group = {}, {}
Sphere.__index, Group.__index = Sphere, Group

local function sphere(center, radius) return setmetatable({ center = center, radius = radius }, Sphere) end
local function group(bound, ...) return setmetatable({ bound = bound, ... }, Group) end

function Sphere:distance(origin, direction)
	local to = sub(self.center, origin)
	local along = dot(to, direction)
	local inside = along * along - dot(to, to) + self.radius * self.radius
	if inside < 0 then return huge end
	local root = sqrt(inside)
	local far = along + root
	if far < 0 then return huge end
	local near = along - root
	return near > 0 and near or far
end

function Sphere:nearest(origin, direction, best, hit)
	local distance = self:distance(origin, direction)
	if distance < best then return distance, self end
	return best, hit
end

function Group:nearest(origin, direction, best, hit)
	if self.bound:distance(origin, direction) < best then
		for i = 1, #self do best, hit = self[i]:nearest(origin, direction, best, hit) end
	end
	return best, hit
end

local function pyramid(level, center, radius)
	local own = sphere(center, radius)
	if level == 1 then return own end
	local away = 3 * radius / sqrt(12)
	local function child(x, z)
		return pyramid(level - 1, add(center, vector(x * away, away, z * away)), radius / 2)
	end
	return group(sphere(center, 3 * radius), own, child(-1, -1), child(1, -1), child(-1, 1), child(1, 1))
end

local LIGHT = unit(vector(-1, -3, 2))

local function trace(origin, direction, scene)
	local distance, hit = scene:nearest(origin, direction, huge, nil)
	if not hit then return 0 end
	local at = add(origin, scaled(direction, distance))
	local normal = unit(sub(at, hit.center))
	local bright = -dot(normal, LIGHT)
	if bright <= 0 then return 0 end
	local _, shade = scene:nearest(add(at, scaled(normal, 1e-6)), scaled(LIGHT, -1), huge, nil)
	return shade and 0 or bright
end

return {
	size = 64,
	quick = 10,
	expected = { [10] = 7522405, [64] = 761887 },
	run = function(size)
		local scene, eye, sum = pyramid(4, vector(0, -1, 0), 1), vector(0, 0, -4), 0
		for y = size - 1, 0, -1 do
			for x = 0, size - 1 do
				local bright = trace(eye, unit(vector(x - size / 2, y - size / 2, size)), scene)
				sum = (sum * 31 + floor(255 * bright + 0.5)) % 16777213
			end
		end
		return sum
	end,
}
