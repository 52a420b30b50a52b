-- SPDX-License-Identifier: MIT
-- DeltaBlue, an incremental solver of one-way constraints with strengths: a chain of equal variables, and a projection of
-- one set of variables on another. The size is the number of variables.

local REQUIRED, STRONG, PREFERRED, STRONG_DEFAULT, NORMAL, WEAK_DEFAULT, WEAKEST = 0, 1, 2, 3, 4, 5, 6

local function variable(value)
	return { value = value, constraints = {}, by = nil, mark = 0, strength = WEAKEST, stays = true }
end

local function drop(list, item)
	for i = 1, #list do
		if list[i] == item then
			table.remove(list, i)
			return
		end
	end
end

-- Constraints of one variable: it stays, or is edited from outside.
local Unary = {}
Unary.__index = Unary

function Unary:attach() local list = self.out.constraints; list[#list + 1] = self; self.satisfied = false end
function Unary:detach() drop(self.out.constraints, self); self.satisfied = false end
function Unary:choose(mark) self.satisfied = self.out.mark ~= mark and self.strength < self.out.strength end
function Unary:output() return self.out end
function Unary:mark_inputs() end
function Unary:inputs_known() return true end
function Unary:forget() self.satisfied = false end
function Unary:execute() end

function Unary:recalculate()
	self.out.strength = self.strength
	self.out.stays = not self.input
end

local function unary(out, strength, is_input)
	return setmetatable({ out = out, strength = strength, input = is_input, satisfied = false }, Unary)
end

-- Constraints of two variables, each of which may be the one that is computed; `way` is 0 when none is.
local Binary = {}
Binary.__index = Binary

function Binary:attach()
	for _, each in ipairs(self.all) do each.constraints[#each.constraints + 1] = self end
	self.way = 0
end

function Binary:detach()
	for _, each in ipairs(self.all) do drop(each.constraints, self) end
	self.way = 0
end

function Binary:choose(mark)
	local a, b, strength = self.a, self.b, self.strength
	if a.mark == mark then
		self.way = b.mark ~= mark and strength < b.strength and 1 or 0
	elseif b.mark == mark then
		self.way = strength < a.strength and 2 or 0
	elseif a.strength > b.strength then
		self.way = strength < a.strength and 2 or 0
	else
		self.way = strength < b.strength and 1 or 0
	end
	self.satisfied = self.way ~= 0
end

function Binary:input() return self.way == 1 and self.a or self.b end
function Binary:output() return self.way == 1 and self.b or self.a end
function Binary:forget() self.way, self.satisfied = 0, false end

function Binary:mark_inputs(mark)
	self:input().mark = mark
	if self.scale then self.scale.mark, self.offset.mark = mark, mark end
end

local function known(each, mark) return each.mark == mark or each.stays or not each.by end

function Binary:inputs_known(mark)
	return known(self:input(), mark) and (not self.scale or known(self.scale, mark) and known(self.offset, mark))
end

function Binary:execute()
	if not self.scale then
		self:output().value = self:input().value
	elseif self.way == 1 then
		self.b.value = self.a.value * self.scale.value + self.offset.value
	else
		self.a.value = (self.b.value - self.offset.value) / self.scale.value
	end
end

function Binary:recalculate()
	local from, to = self:input(), self:output()
	to.strength = math.max(self.strength, from.strength)
	to.stays = from.stays and (not self.scale or self.scale.stays and self.offset.stays)
	if to.stays then self:execute() end
end

local function equal(a, b)
	return setmetatable({ a = a, b = b, all = { a, b }, strength = REQUIRED, way = 0, satisfied = false }, Binary)
end

local function scaled(a, scale, offset, b)
	local all = { a, b, scale, offset }
	return setmetatable(
		{ a = a, b = b, scale = scale, offset = offset, all = all, strength = REQUIRED, way = 0, satisfied = false },
		Binary)
end

local Planner = {}
Planner.__index = Planner

function Planner:new_mark()
	self.mark = self.mark + 1
	return self.mark
end

-- Satisfies a constraint if it is stronger than what it overrides, which is returned.
function Planner:satisfy(constraint, mark)
	constraint:choose(mark)
	if not constraint.satisfied then
		assert(constraint.strength ~= REQUIRED, "a required constraint cannot be satisfied")
		return nil
	end
	constraint:mark_inputs(mark)
	local out = constraint:output()
	local overridden = out.by
	if overridden then overridden:forget() end
	out.by = constraint
	assert(self:propagate(constraint, mark), "a cycle")
	out.mark = mark
	return overridden
end

function Planner:add(constraint)
	constraint:attach()
	self:satisfy_all(constraint)
end

function Planner:satisfy_all(constraint)
	local mark = self:new_mark()
	while constraint do constraint = self:satisfy(constraint, mark) end
end

local function consumers(each, into)
	local by = each.by
	for i = 1, #each.constraints do
		local constraint = each.constraints[i]
		if constraint ~= by and constraint.satisfied then into[#into + 1] = constraint end
	end
end

function Planner:propagate(constraint, mark)
	local todo = { constraint }
	while #todo > 0 do
		local next_one = table.remove(todo)
		if next_one:output().mark == mark then
			self:remove(constraint)
			return false
		end
		next_one:recalculate()
		consumers(next_one:output(), todo)
	end
	return true
end

function Planner:remove(constraint)
	if not constraint.satisfied then
		constraint:detach()
		return
	end
	local out = constraint:output()
	constraint:forget()
	constraint:detach()
	for strength, list in ipairs(self:loosen(out)) do
		for i = 1, #list do self:satisfy_all(list[i]) end
		assert(strength <= WEAKEST + 1)
	end
end

-- What is computed from a variable falls to the weakest strength; returns unsatisfied constraints by strength.
function Planner:loosen(out)
	out.by, out.strength, out.stays = nil, WEAKEST, true
	local unsatisfied, todo = { {}, {}, {}, {}, {}, {}, {} }, { out }
	while #todo > 0 do
		local each = table.remove(todo)
		for i = 1, #each.constraints do
			local constraint = each.constraints[i]
			if not constraint.satisfied then
				local list = unsatisfied[constraint.strength + 1]
				list[#list + 1] = constraint
			end
		end
		local below = {}
		consumers(each, below)
		for i = 1, #below do
			below[i]:recalculate()
			todo[#todo + 1] = below[i]:output()
		end
	end
	return unsatisfied
end

-- The constraints to execute, in order, when inputs change.
function Planner:plan(inputs)
	local mark, plan, todo = self:new_mark(), {}, {}
	for i = 1, #inputs do
		if inputs[i].input and inputs[i].satisfied then todo[#todo + 1] = inputs[i] end
	end
	while #todo > 0 do
		local constraint = table.remove(todo)
		local out = constraint:output()
		if out.mark ~= mark and constraint:inputs_known(mark) then
			plan[#plan + 1] = constraint
			out.mark = mark
			consumers(out, todo)
		end
	end
	return plan
end

local function execute(plan)
	for i = 1, #plan do plan[i]:execute() end
end

function Planner:change(each, value)
	local edit = unary(each, PREFERRED, true)
	self:add(edit)
	local plan = self:plan({ edit })
	for _ = 1, 10 do
		each.value = value
		execute(plan)
	end
	self:remove(edit)
end

local function new_planner() return setmetatable({ mark = 0 }, Planner) end

local function chain(size)
	local planner, all = new_planner(), {}
	for i = 0, size do all[i] = variable(0) end
	for i = 1, size do planner:add(equal(all[i - 1], all[i])) end
	planner:add(unary(all[size], STRONG_DEFAULT, false))
	local edit = unary(all[0], PREFERRED, true)
	planner:add(edit)
	local plan, sum = planner:plan({ edit }), 0
	for i = 1, 100 do
		all[0].value = i
		execute(plan)
		assert(all[size].value == i, "the chain is broken")
		sum = sum + all[size].value
	end
	return sum + #plan * 65536
end

local function projection(size)
	local planner, scale, offset = new_planner(), variable(10), variable(1000)
	local from, to = {}, {}
	for i = 1, size do
		from[i], to[i] = variable(i), variable(i)
		planner:add(unary(from[i], NORMAL, false))
		planner:add(scaled(from[i], scale, offset, to[i]))
	end
	planner:change(from[size], 17)
	assert(to[size].value == 1170, "first projection")
	planner:change(to[size], 1050)
	assert(from[size].value == 5, "second projection")
	planner:change(scale, 5)
	for i = 1, size - 1 do assert(to[i].value == i * 5 + 1000, "third projection") end
	planner:change(offset, 2000)
	local sum = 0
	for i = 1, size - 1 do
		assert(to[i].value == i * 5 + 2000, "fourth projection")
		sum = (sum * 31 + to[i].value) % 16777213
	end
	return sum
end

return {
	size = 800,
	quick = 40,
	expected = { [40] = 45164702585093, [800] = 880793549631336 },
	run = function(size) return chain(size) * 16777216 + projection(size) end,
}
