-- SPDX-License-Identifier: MIT
-- luajit run.lua FOLDER NAME [ITERATIONS [SIZE [silent | traces | events]]]: runs a benchmark and prints its checksum. SIZE is a
-- number, `default` or `quick`. Ends with status 1 when iterations differ, or when the checksum is not the known one of this
-- size. `traces` counts the traces there are at the end; `events` counts what the compiler does meanwhile, which
-- changes it a little.

local folder, name, iterations, size, count = ...
local function refuse(...)
	io.stderr:write("run.lua: ", string.format(...), "\n")
	os.exit(1)
end
if not name then refuse("usage: luajit run.lua FOLDER NAME [ITERATIONS [SIZE [silent | traces | events]]]") end

local load_it, reason = loadfile(folder .. "/" .. name .. ".lua")
if not load_it then refuse("%s", reason) end
local bench = load_it()
iterations = tonumber(iterations or 30)
size = tonumber(size) or size == "quick" and bench.quick or (size or "default") == "default" and bench.size
if not iterations or iterations < 1 or not size or size < 1 then refuse("iterations and size are numbers above zero") end

local counted = { start = 0, stop = 0, abort = 0, flush = 0, side = 0 }
if count == "events" then
	jit.attach(function(what, _, _, _, parent)
		counted[what] = (counted[what] or 0) + 1
		if what == "start" and type(parent) == "number" and parent > 0 then counted.side = counted.side + 1 end
	end, "trace")
end

if bench.prepare then bench.prepare(size) end
local sum = bench.run(size)
for iteration = 2, iterations do
	local again = bench.run(size)
	if again ~= sum then refuse("%s: iteration %d made %.17g, not %.17g", name, iteration, again, sum) end
end
local known = bench.expected[size]
if known and known ~= sum then refuse("%s: size %d made %.17g, not %.17g", name, size, sum, known) end
print(("%s %d %.17g%s"):format(name, size, sum, known and " known" or ""))

if count == "events" then
	print(("traces %d side %d aborted %d flushes %d"):format(counted.stop, counted.side, counted.abort, counted.flush))
elseif count == "traces" then
	jit.off()
	local info, there = require("jit.util").traceinfo, 0
	for trace = 1, 65535 do
		if info(trace) then there = there + 1 end
	end
	print(("traces %d"):format(there))
end
