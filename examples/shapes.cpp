/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same work done by virtual calls in random order and in sorted order.
 *
 *	c++ -O2 shapes.cpp $(pkg-config --cflags --libs cyclade) -o shapes && ./shapes
 */
#include <algorithm>
#include <cstdio>
#include <cyclade.h>
#include <memory>
#include <random>
#include <vector>

struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
	virtual int kind() const = 0;
};

template <int K> struct polygon : shape {
	explicit polygon(double side) : side(side)
	{
	}
	double area() const override
	{
		return side * side * K / 4;
	}
	int kind() const override
	{
		return K;
	}
	double side;
};

using shapes = std::vector<std::unique_ptr<shape>>;

static double total(const shapes &all)
{
	double sum = 0;

	for (const auto &s : all)
		sum += s->area();
	return sum;
}

int main()
{
	struct cyclade_open_opts opts = {};
	struct cyclade_error error = {};
	struct cyclade_report_opts report = {};
	struct cyclade_set *set;
	std::mt19937 random(1);
	shapes all;
	double sum = 0;

	opts.size = sizeof(opts);
	opts.metrics = "ipc,topdown.l2";
	error.size = sizeof(error);
	report.size = sizeof(report);
	report.fd = 1;
	if (cyclade_open(&set, &opts, &error)) {
		std::fprintf(stderr, "%s\n%s\n", error.what, error.hint);
		return 1;
	}
	for (int i = 0; i < 50000; i++)
		switch (random() % 3) {
		case 0:
			all.push_back(std::make_unique<polygon<3>>(i));
			break;
		case 1:
			all.push_back(std::make_unique<polygon<4>>(i));
			break;
		default:
			all.push_back(std::make_unique<polygon<6>>(i));
		}
	for (int i = 0; i < 50; i++) {
		CYCLADE_SCOPE(set, "random order");
		sum += total(all);
	}
	std::sort(all.begin(), all.end(),
		  [](const auto &a, const auto &b) { return a->kind() < b->kind(); });
	for (int i = 0; i < 50; i++) {
		CYCLADE_SCOPE(set, "sorted");
		sum += total(all);
	}
	cyclade_report(set, &report);
	cyclade_close(set);
	return sum < 0;
}
