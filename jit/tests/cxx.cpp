// SPDX-License-Identifier: MIT
// The header with C++ and the shared library: scopes end when they are thrown out of.
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "jitgate.h"

static void generate(jitgate_area *area)
{
	jitgate::scope scope(area);

	if (scope.state() != 0)
		throw std::logic_error("it was open before");
	std::memset(jitgate_area_start(area), 0, 16);
	jitgate::scope inner(area);
	throw std::runtime_error("out of registers");
}

int main()
{
	jitgate_request request = jitgate_request();
	jitgate_area *area;

	request.size = 4096;
	if (jitgate_area_new(&area, &request))
		return 2;
	try {
		generate(area);
	} catch (const std::runtime_error &error) {
		std::printf("%s\n", error.what());
		if (jitgate_state(area) != 0 || jitgate_check(nullptr, nullptr) != 0)
			return 1;
		return jitgate_area_free(area) ? 1 : 0;
	}
	return 3;
}
