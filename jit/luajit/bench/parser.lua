-- SPDX-License-Identifier: MIT
-- A lexer and a recursive-descent parser of Lua, as a checker of sources has them, over text that a generator makes
-- beforehand. The size is its number of statements. What counts is the number of ways through the code: many traces,
-- most of them side traces.

local byte, sub, find = string.byte, string.sub, string.find

-- Text --------------------------------------------------------------------------------------------------------
local NAMES = { "index", "value", "node", "self", "result", "t", "key", "count", "line", "callback", "x", "state" }
local OPERATORS = { "+", "-", "*", "/", "%", "..", "==", "~=", "<", ">", "<=", ">=", "and", "or", "^" }

local function make_text(size)
	local seed, statements, out = 42, 0, {}
	local expression, block

	local function draw(count)
		seed = (seed * 16807) % 2147483647
		return seed % count + 1
	end

	local function put(...)
		for i = 1, select("#", ...) do out[#out + 1] = (select(i, ...)) end
	end

	local function name() put(NAMES[draw(#NAMES)]) end

	local function list(depth)
		expression(depth)
		for _ = 2, draw(3) do put(", "); expression(depth) end
	end

	local function target(depth)
		name()
		for _ = 2, draw(3) do
			if draw(2) == 1 then put("."); name() else put("["); expression(depth); put("]") end
		end
	end

	local function call(depth)
		target(depth)
		if draw(4) == 1 then put(":"); name() end
		local kind = draw(6)
		if kind == 1 then put(' "text"')
		elseif kind == 2 then put("{"); list(depth); put("}")
		else put("("); if kind > 3 then list(depth) end; put(")") end
	end

	local function body(depth)
		put("("); name(); if draw(3) == 1 then put(", ...") end; put(")\n")
		block(depth, draw(3))
		put("end")
	end

	local function constructor(depth)
		put("{")
		for _ = 1, draw(4) do
			local kind = draw(3)
			if kind == 1 then name(); put(" = ") elseif kind == 2 then put("["); expression(depth); put("] = ") end
			expression(depth)
			put(draw(5) == 1 and ";" or ", ")
		end
		put("}")
	end

	function expression(depth)
		local kind = draw(depth > 0 and 14 or 7)
		if kind == 1 then put(tostring(draw(10000)))
		elseif kind == 2 then put(("%d.%de%d"):format(draw(9), draw(99), draw(9)))
		elseif kind == 3 then put(('"%s\\n\\t %d"'):format(NAMES[draw(#NAMES)], draw(99)))
		elseif kind == 4 then put(draw(2) == 1 and "nil" or draw(2) == 1 and "true" or "false")
		elseif kind == 5 then put(("0x%x"):format(draw(65536)))
		elseif kind < 8 then name()
		elseif kind == 8 then put("("); expression(depth - 1); put(")")
		elseif kind == 9 then put(draw(2) == 1 and "not " or draw(2) == 1 and "- " or "#"); expression(depth - 1)
		elseif kind == 10 then call(depth - 1)
		elseif kind == 11 then put("function"); body(depth - 2)
		elseif kind == 12 then constructor(depth - 1)
		else expression(depth - 1); put(" ", OPERATORS[draw(#OPERATORS)], " "); expression(depth - 1) end
	end

	local function statement(depth)
		statements = statements + 1
		local kind = draw(depth > 0 and 14 or 8)
		if kind < 3 then put("local "); name(); put(" = "); expression(3)
		elseif kind < 5 then target(1); put(" = "); list(2)
		elseif kind < 7 then call(2)
		elseif kind == 7 then put("-- says what follows, at some length, for people\n"); call(1)
		elseif kind == 8 then put("local long = [==[ some ]] text\n in two lines ]==]")
		elseif kind == 9 then
			put("if "); expression(2); put(" then\n"); block(depth - 1, draw(3))
			if draw(2) == 1 then put("elseif "); expression(2); put(" then\n"); block(depth - 1, draw(2)) end
			if draw(2) == 1 then put("else\n"); block(depth - 1, draw(2)) end
			put("end")
		elseif kind == 10 then put("while "); expression(2); put(" do\n"); block(depth - 1, draw(3)); put("end")
		elseif kind == 11 then
			put("for "); name(); put(" = "); expression(1); put(", "); expression(1); put(" do\n")
			block(depth - 1, draw(3)); put("end")
		elseif kind == 12 then
			put("for "); name(); put(", "); name(); put(" in "); call(1); put(" do\n")
			block(depth - 1, draw(3)); put("end")
		elseif kind == 13 then put("local function "); name(); body(depth - 1)
		else put("repeat\n"); block(depth - 1, draw(3)); put("until "); expression(2) end
		put(";\n")
	end

	function block(depth, count)
		for _ = 1, count do put("\t"); statement(depth) end
		if draw(8) == 1 then put("return "); expression(2); put("\n") end
	end

	while statements < size do put("do\n"); statement(3); put("end\n") end
	return table.concat(out)
end

-- Lexer -------------------------------------------------------------------------------------------------------
local KEYWORDS = {}
for word in ("and break do else elseif end false for function if in local nil not or repeat return then true until "
	.. "while"):gmatch("%a+") do
	KEYWORDS[word] = true
end

local function class_of(pattern)
	local class = {}
	for code = 0, 255 do class[code] = find(string.char(code), pattern) ~= nil end
	return class
end

local SPACE, DIGIT, HEX, START, WORD = class_of("%s"), class_of("%d"), class_of("%x"), class_of("[%a_]"), class_of("[%w_]")
local ESCAPES = { n = "\n", t = "\t", ["\\"] = "\\", ['"'] = '"' }

local Lexer = {}
Lexer.__index = Lexer

function Lexer:fail(what) error(("line %d: %s"):format(self.line, what), 0) end

function Lexer:skip()
	local text, at = self.text, self.at
	while true do
		local code = byte(text, at)
		if code == 10 then
			self.line = self.line + 1
			at = at + 1
		elseif code and SPACE[code] then
			at = at + 1
		elseif code == 45 and byte(text, at + 1) == 45 then
			at = at + 2
			code = byte(text, at)
			while code and code ~= 10 do
				at = at + 1
				code = byte(text, at)
			end
		else
			break
		end
	end
	self.at = at
end

function Lexer:number()
	local text, at = self.text, self.at
	local value = 0
	if byte(text, at) == 48 and byte(text, at + 1) == 120 then
		at = at + 2
		local code = byte(text, at)
		while HEX[code] do
			value = value * 16 + (code <= 57 and code - 48 or code % 32 + 9)
			at = at + 1
			code = byte(text, at)
		end
	else
		local code, scale, exponent = byte(text, at), 0, 0
		while DIGIT[code] do
			value = value * 10 + code - 48
			at = at + 1
			code = byte(text, at)
		end
		if code == 46 and byte(text, at + 1) ~= 46 then
			at = at + 1
			code = byte(text, at)
			while DIGIT[code] do
				value, scale = value * 10 + code - 48, scale - 1
				at = at + 1
				code = byte(text, at)
			end
		end
		if code == 101 then
			at = at + 1
			code = byte(text, at)
			while DIGIT[code] do
				exponent = exponent * 10 + code - 48
				at = at + 1
				code = byte(text, at)
			end
		end
		value = value * 10 ^ (scale + exponent)
	end
	self.at = at
	return "number", value
end

function Lexer:quoted()
	local text, from = self.text, self.at + 1
	local at, pieces = from, nil
	while true do
		local code = byte(text, at)
		if not code then self:fail("a string does not end") end
		if code == 34 then break end
		if code == 92 then
			pieces = pieces or {}
			pieces[#pieces + 1] = sub(text, from, at - 1)
			pieces[#pieces + 1] = ESCAPES[sub(text, at + 1, at + 1)] or self:fail("no such escape")
			at = at + 2
			from = at
		else
			at = at + 1
		end
	end
	local rest = sub(text, from, at - 1)
	self.at = at + 1
	if pieces then
		pieces[#pieces + 1] = rest
		rest = table.concat(pieces)
	end
	return "string", rest
end

function Lexer:long(level)
	local from = self.at + level + 2
	local to, last = find(self.text, "]" .. ("="):rep(level) .. "]", from, true)
	if not to then self:fail("a long string does not end") end
	for at = from, to do
		if byte(self.text, at) == 10 then self.line = self.line + 1 end
	end
	self.at = last + 1
	return "string", sub(self.text, from, to - 1)
end

function Lexer:punctuation(code)
	local text, at = self.text, self.at
	local next_code = byte(text, at + 1)
	if code == 91 and (next_code == 91 or next_code == 61) then
		local level = 0
		while byte(text, at + 1 + level) == 61 do level = level + 1 end
		if byte(text, at + 1 + level) == 91 then return self:long(level) end
	end
	local length = 1
	if code == 46 then
		if next_code == 46 then length = byte(text, at + 2) == 46 and 3 or 2 end
	elseif next_code == 61 and (code == 61 or code == 126 or code == 60 or code == 62) then
		length = 2
	end
	self.at = at + length
	return sub(text, at, at + length - 1)
end

function Lexer:lex()
	self:skip()
	local text, at = self.text, self.at
	local code = byte(text, at)
	if not code then return "eof" end
	if START[code] then
		local last = at
		while WORD[byte(text, last + 1)] do last = last + 1 end
		local word = sub(text, at, last)
		self.at = last + 1
		if KEYWORDS[word] then return word end
		return "name", word
	end
	if DIGIT[code] then return self:number() end
	if code == 34 then return self:quoted() end
	return self:punctuation(code)
end

-- Parser ------------------------------------------------------------------------------------------------------
local LEFT = {
	["or"] = 1, ["and"] = 2, ["<"] = 3, [">"] = 3, ["<="] = 3, [">="] = 3, ["~="] = 3, ["=="] = 3, [".."] = 5,
	["+"] = 6, ["-"] = 6, ["*"] = 7, ["/"] = 7, ["%"] = 7, ["^"] = 10,
}
local RIGHT = { [".."] = 4, ["^"] = 9 }
local UNARY = { ["not"] = true, ["-"] = true, ["#"] = true }
local UNARY_POWER = 8
local ENDS = { ["end"] = true, ["else"] = true, ["elseif"] = true, ["until"] = true, eof = true }

local Parser = setmetatable({}, Lexer)
Parser.__index = Parser

function Parser:advance() self.token, self.value = self:lex() end

function Parser:accept(token)
	if self.token ~= token then return false end
	self:advance()
	return true
end

function Parser:expect(token)
	if self.token ~= token then self:fail(("%s expected, not %s"):format(token, self.token)) end
	local value = self.value
	self:advance()
	return value
end

local function node(tag, line, ...) return { tag = tag, line = line, ... } end

function Parser:names()
	local names = { self:expect("name") }
	while self:accept(",") do names[#names + 1] = self:expect("name") end
	return names
end

function Parser:expressions()
	local list = { self:expression(0) }
	while self:accept(",") do list[#list + 1] = self:expression(0) end
	return list
end

function Parser:body()
	local line, parameters = self.line, {}
	self:expect("(")
	while self.token ~= ")" do
		if self:accept("...") then
			parameters.open = true
		else
			parameters[#parameters + 1] = self:expect("name")
		end
		if not self:accept(",") then break end
	end
	self:expect(")")
	local block = self:block()
	self:expect("end")
	return node("Function", line, parameters, block)
end

function Parser:constructor()
	local made = node("Table", self.line)
	self:expect("{")
	while self.token ~= "}" do
		local item
		if self:accept("[") then
			local key = self:expression(0)
			self:expect("]")
			self:expect("=")
			item = node("Pair", self.line, key, self:expression(0))
		else
			item = self:expression(0)
			if item.tag == "Name" and self:accept("=") then
				item = node("Pair", item.line, node("String", item.line, item[1]), self:expression(0))
			end
		end
		made[#made + 1] = item
		if not self:accept(",") and not self:accept(";") then break end
	end
	self:expect("}")
	return made
end

function Parser:arguments()
	if self.token == "string" then
		local value = self.value
		self:advance()
		return { node("String", self.line, value) }
	end
	if self.token == "{" then return { self:constructor() } end
	self:expect("(")
	local list = self.token ~= ")" and self:expressions() or {}
	self:expect(")")
	return list
end

function Parser:suffixed()
	local line, made = self.line, nil
	if self:accept("(") then
		made = node("Paren", line, self:expression(0))
		self:expect(")")
	else
		made = node("Name", line, self:expect("name"))
	end
	while true do
		local token = self.token
		if token == "." then
			self:advance()
			made = node("Index", line, made, node("String", line, self:expect("name")))
		elseif token == "[" then
			self:advance()
			made = node("Index", line, made, self:expression(0))
			self:expect("]")
		elseif token == ":" then
			self:advance()
			local method = self:expect("name")
			made = node("Invoke", line, made, method, self:arguments())
		elseif token == "(" or token == "string" or token == "{" then
			made = node("Call", line, made, self:arguments())
		else
			return made
		end
	end
end

function Parser:simple()
	local token, value, line = self.token, self.value, self.line
	if token == "number" then
		self:advance()
		return node("Number", line, value)
	elseif token == "string" then
		self:advance()
		return node("String", line, value)
	elseif token == "nil" or token == "true" or token == "false" or token == "..." then
		self:advance()
		return node("Constant", line, token)
	elseif token == "function" then
		self:advance()
		return self:body()
	elseif token == "{" then
		return self:constructor()
	end
	return self:suffixed()
end

function Parser:expression(limit)
	local line, left = self.line, nil
	if UNARY[self.token] then
		local operator = self.token
		self:advance()
		left = node("Unary", line, operator, self:expression(UNARY_POWER))
	else
		left = self:simple()
	end
	local power = LEFT[self.token]
	while power and power > limit do
		local operator = self.token
		self:advance()
		left = node("Binary", line, operator, left, self:expression(RIGHT[operator] or power))
		power = LEFT[self.token]
	end
	return left
end

local STATEMENTS = {}

STATEMENTS["local"] = function(self, line)
	self:advance()
	if self:accept("function") then
		local name = self:expect("name")
		return node("LocalFunction", line, name, self:body())
	end
	local names = self:names()
	return node("Local", line, names, self:accept("=") and self:expressions() or {})
end

STATEMENTS["if"] = function(self, line)
	local made = node("If", line)
	repeat
		self:advance()
		made[#made + 1] = self:expression(0)
		self:expect("then")
		made[#made + 1] = self:block()
	until self.token ~= "elseif"
	if self:accept("else") then made[#made + 1] = self:block() end
	self:expect("end")
	return made
end

STATEMENTS["while"] = function(self, line)
	self:advance()
	local condition = self:expression(0)
	self:expect("do")
	local made = node("While", line, condition, self:block())
	self:expect("end")
	return made
end

STATEMENTS["do"] = function(self, line)
	self:advance()
	local made = node("Do", line, self:block())
	self:expect("end")
	return made
end

STATEMENTS["for"] = function(self, line)
	self:advance()
	local names = self:names()
	local tag = "ForIn"
	if self:accept("=") then tag = "For" else self:expect("in") end
	local list = self:expressions()
	self:expect("do")
	local made = node(tag, line, names, list, self:block())
	self:expect("end")
	return made
end

STATEMENTS["repeat"] = function(self, line)
	self:advance()
	local block = self:block()
	self:expect("until")
	return node("Repeat", line, block, self:expression(0))
end

STATEMENTS["return"] = function(self, line)
	self:advance()
	return node("Return", line, not ENDS[self.token] and self.token ~= ";" and self:expressions() or {})
end

function Parser:statement()
	local own = STATEMENTS[self.token]
	if own then return own(self, self.line) end
	local line, first = self.line, self:suffixed()
	if first.tag == "Call" or first.tag == "Invoke" then return first end
	local targets = { first }
	while self:accept(",") do targets[#targets + 1] = self:suffixed() end
	self:expect("=")
	return node("Set", line, targets, self:expressions())
end

function Parser:block()
	local list = {}
	while not ENDS[self.token] do
		list[#list + 1] = self:statement()
		self:accept(";")
	end
	return list
end

local function parse(text)
	local parser = setmetatable({ text = text, at = 1, line = 1 }, Parser)
	parser:advance()
	local block = parser:block()
	parser:expect("eof")
	return block, parser.line
end

-- Everything in a tree goes into the sum.
local function weigh(tree, sum)
	local tag = tree.tag
	sum = (sum * 31 + (tag and byte(tag) + #tag + tree.line or 7) + #tree) % 16777213
	for i = 1, #tree do
		local item = tree[i]
		local kind = type(item)
		if kind == "table" then
			sum = weigh(item, sum)
		elseif kind == "string" then
			sum = (sum * 31 + #item + (byte(item) or 0)) % 16777213
		else
			sum = (sum * 31 + #tostring(item)) % 16777213
		end
	end
	return sum
end

local texts = {}

return {
	size = 400,
	quick = 60,
	expected = { [60] = 14876289, [400] = 8455798 },
	prepare = function(size) texts[size] = make_text(size) end,
	text = function(size) return texts[size] end,
	run = function(size)
		local tree, lines = parse(texts[size])
		return weigh(tree, lines)
	end,
}
