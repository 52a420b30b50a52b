-- SPDX-License-Identifier: MIT
-- Work that makes LuaJIT generate machine code; every result is held against the interpreter's.

local util = require("jit.util")
local made, aborted, last = 0, 0, 0

jit.opt.start("hotloop=2", "hotexit=2", "maxtrace=60000")
jit.attach(function(what, trace)
	if what == "stop" then
		made, last = made + 1, trace
	elseif what == "abort" then
		aborted = aborted + 1
	end
end, "trace")

function counts()
	return made, aborted
end

-- An address inside the machine code of the newest trace.
function address()
	return (select(2, util.tracemc(last)))
end

function read_code(trace)
	assert(#util.tracemc(trace) > 0)
end

-- A loop of its own with two rare branches: a root trace, and side traces that patch its exits.
local function source(number)
	return string.format([[
		local limit, shift = ...
		local sum = 0
		for i = 1, limit do
			if i %% 3 == shift then
				sum = sum + i * %d
			elseif i %% 5 == shift then
				sum = sum - %d.25
			else
				sum = sum + 1
			end
		end
		return sum]], number, number)
end

local function expected(number, limit, shift)
	local sum = 0
	for i = 1, limit do
		if i % 3 == shift then
			sum = sum + i * number
		elseif i % 5 == shift then
			sum = sum - (number + 0.25)
		else
			sum = sum + 1
		end
	end
	return sum
end
jit.off(expected)

local function try(code, number, limit, shift)
	local got, want = code(limit, shift), expected(number, limit, shift)
	if got ~= want then
		error(string.format("loop %d: %s, not %s", number, got, want))
	end
end

function generate(count)
	for number = 1, count do
		try(assert(loadstring(source(number))), number, 60, 1)
	end
end

-- Exits of traces that lie in older areas become side traces: their code is patched.
function patch_older(count)
	local loops = {}
	for number = 1, count do
		loops[number] = assert(loadstring(source(number)))
		try(loops[number], number, 60, 7)
	end
	for shift = 1, 2 do
		for number, code in ipairs(loops) do
			try(code, number, 60, shift)
		end
	end
end

-- More exits than one group of exit stubs has.
function many_exits(count)
	local lines = { "local x, sum = ..., 0", "for i = 1, 400 do local k = (i * x) % " .. count }
	for number = 1, count do
		lines[#lines + 1] = string.format("if k == %d then sum = sum + %d.5 end", number, number)
	end
	lines[#lines + 1] = "end return sum"
	local text = table.concat(lines, "\n")
	for x = 1, 3 do
		local fast, slow = assert(loadstring(text)), assert(loadstring(text))
		jit.off(slow)
		assert(fast(x) == slow(x))
	end
end

function flush_often(count)
	for number = 1, count do
		generate(6)
		if number % 3 == 0 then
			for trace = 1, 6 do
				pcall(jit.flush, trace)
			end
		else
			jit.flush()
		end
	end
end

-- The assembler runs out of space in the middle of a trace, is jumped out of, and begins again.
function no_space(count)
	jit.opt.start("sizemcode=4", "maxmcode=8")
	for number = 1, count do
		generate(12)
		pcall(many_exits, 60)
	end
	jit.opt.start("sizemcode=64", "maxmcode=512")
end

-- Errors unwind through machine code.
function throw(count)
	local function thrower(i)
		if i % 4 == 0 then
			error({ i })
		end
		return i
	end
	local caught, sum = 0, 0
	for i = 1, count do
		local good, what = pcall(thrower, i)
		if good then
			sum = sum + what
		else
			caught = caught + 1
			assert(what[1] == i)
		end
	end
	assert(caught == math.floor(count / 4))
end

function in_coroutines(count)
	local function body(first)
		local sum = 0
		for i = first, first + 50 do
			sum = sum + i
			if i % 10 == 0 then
				generate(1)
				coroutine.yield(sum)
			end
		end
		return "end"
	end
	local all = {}
	for number = 1, count do
		all[number] = coroutine.create(body)
	end
	local living = count
	while living > 0 do
		for number, co in pairs(all) do
			if coroutine.status(co) == "dead" then
				all[number] = nil
				living = living - 1
			else
				assert(coroutine.resume(co, number))
			end
		end
	end
end

-- A signal every millisecond, and a hook that ends recordings.
function interrupted(count)
	local profile = require("jit.profile")
	local samples, hooks = 0, 0
	profile.start("i1", function()
		samples = samples + 1
	end)
	local stop = os.clock() + count / 1000
	repeat
		generate(20)
		jit.flush()
	until os.clock() > stop
	profile.stop()
	assert(samples > 0, "no signal came")
	debug.sethook(function()
		hooks = hooks + 1
	end, "", 97)
	generate(20)
	debug.sethook()
	assert(hooks > 0)
end
