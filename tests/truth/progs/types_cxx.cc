// SPDX-License-Identifier: BSD-3-Clause
// Containers of C++; prints what types.c does.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace app {
struct Item {
	int id;
	short kind, flags;
	double weight;
	long uses;
	Item *next;
};

class Shape {
public:
	explicit Shape(long n) : edges(n) {}
	virtual ~Shape() {}
	virtual double area() const = 0;
	long edges;
};

class Box : public Shape {
public:
	Box(double w, double h) : Shape(4), width(w), height(h) {}
	double area() const override { return width * height * static_cast<double>(edges); }
	double width, height;
};

struct Store {
	std::vector<Item> items;
	std::map<int, Item> by_id;
	std::unordered_map<long, Item> hashed;
	std::vector<std::unique_ptr<Box>> boxes;
};
}

using namespace app;
#define NOINLINE __attribute__((noinline))

static NOINLINE double weigh(const Store &s)
{
	double sum = 0;

	for (const auto &i : s.items)
		sum += i.weight * i.kind;
	for (const auto &p : s.by_id)
		sum += p.second.weight + p.first;
	for (const auto &p : s.hashed)
		sum += static_cast<double>(p.second.uses);
	return sum;
}

static NOINLINE void use(Store &s, int k)
{
	auto it = s.by_id.find(k);

	if (it != s.by_id.end())
		it->second.flags++;
	s.items[static_cast<size_t>(k)].uses++;
	auto h = s.hashed.find(k);
	if (h != s.hashed.end())
		h->second.uses++;
}

static NOINLINE double areas(const std::vector<std::unique_ptr<Box>> &boxes)
{
	double sum = 0;

	for (const auto &b : boxes) {
		const Shape *s = b.get();

		sum += s->area();
	}
	return sum;
}

static NOINLINE long chain(const Item *i)
{
	long sum = 0;

	for (; i; i = i->next)
		sum += i->id + i->flags;
	return sum;
}

static void object(const char *kind, const void *at, size_t n)
{
	printf("object %s %lx %zu\n", kind, static_cast<unsigned long>(reinterpret_cast<uintptr_t>(at)), n);
}

static void item(const char *kind, size_t stride, size_t at, const char *type, const char *prefix)
{
	static const struct {
		size_t at, size;
		const char *name;
	} rows[] = { { 0, 4, "id" }, { 4, 2, "kind" }, { 6, 2, "flags" }, { 8, 8, "weight" }, { 16, 8, "uses" }, { 24, 8, "next" } };

	static_assert(offsetof(Item, uses) == 16 && sizeof(Item) == 32, "the rows");
	for (const auto &r : rows)
		printf("field %s %zu %zu %zu %s %s%s\n", kind, stride, at + r.at, r.size, type, prefix, r.name);
}

int main()
{
	Store s;
	double sum = 0;

	s.items.reserve(400);
	s.hashed.reserve(400);
	s.boxes.reserve(400);
	for (int i = 0; i < 400; i++) {
		s.items.push_back(Item{ i, static_cast<short>(i % 3), 0, i * 0.5, 0, nullptr });
		s.by_id[i * 7 % 400] = s.items.back();
		s.hashed[i] = s.items.back();
		s.boxes.push_back(std::make_unique<Box>(i, 2));
	}
	for (size_t i = 0; i + 1 < s.items.size(); i++)
		s.items[i].next = &s.items[i + 1];
	for (int i = 0; i < 6; i++) {
		sum += weigh(s) + areas(s.boxes) + static_cast<double>(chain(s.items.data()));
		for (int k = 0; k < 400; k++)
			use(s, k);
	}
	printf("stack %lx\n", static_cast<unsigned long>(reinterpret_cast<uintptr_t>(&sum)));
	object("item", s.items.data(), 400);
	item("item", sizeof(Item), 0, "app::Item", "");
	// a node of the map: colour, three pointers, the pair
	for (auto &p : s.by_id)
		object("tree", reinterpret_cast<const char *>(&p) - 32, 1);
	const char *tree[] = { "std::_Rb_tree_node_base", "std::_Rb_tree_node<*" };
	for (auto base : tree)
		printf("field tree 72 0 4 %s _M_color\nfield tree 72 8 8 %s _M_parent\n"
		       "field tree 72 16 8 %s _M_left\nfield tree 72 24 8 %s _M_right\n",
		       base, base, base, base);
	printf("field tree 72 8 24 std::_Rb_tree_node_base~* \nfield tree 72 32 4 std::_Rb_tree_node<* _M_storage.first\n");
	item("tree", 72, 40, "std::_Rb_tree_node<*", "_M_storage.second.");
	item("tree", 72, 40, "std::pair<*", "second.");
	item("tree", 72, 40, "app::Item", "");
	printf("field tree 72 32 4 std::pair<* first\nfield tree 72 32 4 int \n");
	// a node of the hash table: the next one, the pair
	for (auto &p : s.hashed)
		object("hash", reinterpret_cast<const char *>(&p) - 8, 1);
	printf("field hash 48 0 8 std::__detail::_Hash_node_base _M_nxt\nfield hash 48 0 8 std::__detail::_Hash_node* _M_nxt\n"
	       "field hash 48 8 8 std::pair<* first\nfield hash 48 8 8 long \nfield hash 48 8 8 long~int \n"
	       "field hash 48 8 8 std::__detail::_Hash_node* _M_storage.first\nfield hash 48 8 8 long~unsigned~int \n");
	item("hash", 48, 16, "std::__detail::_Hash_node*", "_M_storage.second.");
	item("hash", 48, 16, "std::pair<*", "second.");
	item("hash", 48, 16, "app::Item", "");
	for (auto &b : s.boxes)
		object("box", b.get(), 1);
	for (auto c : { "Shape", "Box" })
		printf("field box 32 0 8 app::%s _vptr.Shape\nfield box 32 0 8 app::%s _vptr$Shape\nfield box 32 8 8 app::%s edges\n", c, c, c);
	printf("field box 32 16 8 app::Box width\nfield box 32 24 8 app::Box height\n");
	return sum < 0;
}
