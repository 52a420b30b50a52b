-- SPDX-License-Identifier: MIT
-- The inside of an operating system, after Martin Richards: six tasks send packets to each other. The size is how often
-- the idle task runs; how many packets were queued and how often a task was held is known.

local bit = require("bit")
local band, bor, bxor, bnot, rshift = bit.band, bit.bor, bit.bxor, bit.bnot, bit.rshift

local IDLE, WORKER, HANDLER_A, HANDLER_B, DEVICE_A, DEVICE_B = 1, 2, 3, 4, 5, 6
local DEVICE, WORK = 0, 1
local RUNNABLE, SUSPENDED, HELD = 1, 2, 4
local WORDS = 4

local function append(packet, queue)
	packet.link = nil
	if not queue then return packet end
	local last = queue
	while last.link do last = last.link end
	last.link = packet
	return queue
end

local function packets(count, id, kind)
	local queue
	for _ = 1, count do queue = { link = queue, id = id, kind = kind, at = 0, words = { 0, 0, 0, 0 } } end
	return queue
end

local Scheduler = {}
Scheduler.__index = Scheduler

function Scheduler:add(id, priority, queue, work)
	local state = queue and bor(RUNNABLE, SUSPENDED) or SUSPENDED
	local task = { id = id, priority = priority, queue = queue, state = state, work = work, link = self.first }
	self.first, self.tasks[id] = task, task
	return task
end

function Scheduler:run()
	self.current = self.first
	while self.current do
		local task = self.current
		if band(task.state, HELD) ~= 0 or task.state == SUSPENDED then
			self.current = task.link
		else
			local packet
			if task.state == bor(RUNNABLE, SUSPENDED) then
				packet = task.queue
				task.queue = packet.link
				task.state = task.queue and RUNNABLE or 0
			end
			self.current = task.work:run(self, packet)
		end
	end
end

function Scheduler:suspend()
	self.current.state = bor(self.current.state, SUSPENDED)
	return self.current
end

function Scheduler:hold()
	self.held = self.held + 1
	self.current.state = bor(self.current.state, HELD)
	return self.current.link
end

function Scheduler:release(id)
	local task = self.tasks[id]
	task.state = band(task.state, bnot(HELD))
	return task.priority > self.current.priority and task or self.current
end

function Scheduler:send(packet)
	local to = self.tasks[packet.id]
	self.queued = self.queued + 1
	packet.link, packet.id = nil, self.current.id
	if to.queue then
		append(packet, to.queue)
		return self.current
	end
	to.queue, to.state = packet, bor(to.state, RUNNABLE)
	return to.priority > self.current.priority and to or self.current
end

local Idle, Device, Worker, Handler = {}, {}, {}, {}
Idle.__index, Device.__index, Worker.__index, Handler.__index = Idle, Device, Worker, Handler

function Idle:run(scheduler)
	self.left = self.left - 1
	if self.left == 0 then return scheduler:hold() end
	if band(self.seed, 1) == 0 then
		self.seed = rshift(self.seed, 1)
		return scheduler:release(DEVICE_A)
	end
	self.seed = bxor(rshift(self.seed, 1), 0xd008)
	return scheduler:release(DEVICE_B)
end

function Device:run(scheduler, packet)
	if packet then
		self.pending = packet
		return scheduler:hold()
	end
	local pending = self.pending
	if not pending then return scheduler:suspend() end
	self.pending = nil
	return scheduler:send(pending)
end

function Worker:run(scheduler, packet)
	if not packet then return scheduler:suspend() end
	self.to = self.to == HANDLER_A and HANDLER_B or HANDLER_A
	packet.id, packet.at = self.to, 0
	for i = 1, WORDS do
		self.letter = self.letter % 26 + 1
		packet.words[i] = self.letter
	end
	return scheduler:send(packet)
end

function Handler:run(scheduler, packet)
	if packet then
		if packet.kind == WORK then
			self.work = append(packet, self.work)
		else
			self.free = append(packet, self.free)
		end
	end
	local work = self.work
	if work then
		if work.at >= WORDS then
			self.work = work.link
			return scheduler:send(work)
		end
		local free = self.free
		if free then
			self.free = free.link
			work.at = work.at + 1
			free.at = work.words[work.at]
			return scheduler:send(free)
		end
	end
	return scheduler:suspend()
end

return {
	size = 30000,
	quick = 1000,
	expected = { [1000] = 2322 * 65536 + 928, [10000] = 23246 * 65536 + 9297, [30000] = 4579421485 },
	run = function(size)
		local scheduler = setmetatable({ tasks = {}, queued = 0, held = 0 }, Scheduler)
		scheduler:add(IDLE, 0, nil, setmetatable({ seed = 1, left = size }, Idle)).state = 0
		scheduler:add(WORKER, 1000, packets(2, WORKER, WORK), setmetatable({ to = HANDLER_A, letter = 0 }, Worker))
		scheduler:add(HANDLER_A, 2000, packets(3, DEVICE_A, DEVICE), setmetatable({}, Handler))
		scheduler:add(HANDLER_B, 3000, packets(3, DEVICE_B, DEVICE), setmetatable({}, Handler))
		scheduler:add(DEVICE_A, 4000, nil, setmetatable({}, Device))
		scheduler:add(DEVICE_B, 5000, nil, setmetatable({}, Device))
		scheduler:run()
		return scheduler.queued * 65536 + scheduler.held
	end,
}
