// SPDX-License-Identifier: BSD-3-Clause
// A program that spends its time on small objects: trees of strings, vectors and maps are made and dropped.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct value {
	std::string text;
	std::vector<std::unique_ptr<value>> many;
	std::map<int, std::unique_ptr<value>> named;
};

static unsigned seed = 1;

static unsigned draw()
{
	seed = seed * 1103515245 + 12345;
	return seed >> 16;
}

static std::unique_ptr<value> parse(int depth)
{
	auto v = std::make_unique<value>();

	v->text.assign(20 + draw() % 60, 'x');
	for (int i = 0; depth && i < 3; i++)
		v->many.push_back(parse(depth - 1));
	for (int i = 0; depth && i < 2; i++)
		v->named[(int)(draw() % 100)] = parse(depth - 1);
	return v;
}

int main(int n, char **v)
{
	size_t sum = 0;

	for (int i = n > 1 ? atoi(v[1]) : 100; i; i--)
		sum += parse(6)->many.size();
	printf("%zu\n", sum);
}
