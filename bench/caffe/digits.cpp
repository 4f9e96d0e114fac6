// SPDX-License-Identifier: Apache-2.0
// Writes digits that LeNet can learn to read into an LMDB, as Caffe's data layer reads it.
//
//	digits FOLDER COUNT SEED
//
// A digit is 28x28 grey values: a seven-segment glyph of changing place, size and strength, on
// noise. The same arguments make the same digits on each machine.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/db.hpp"

static const int SIDE = 28;

// The bits are the segments top, upper left, upper right, middle, lower left, lower right, bottom.
static const unsigned char segments[10] = {
	0x77, 0x24, 0x5d, 0x6d, 0x2e, 0x6b, 0x7b, 0x25, 0x7f, 0x6f,
};

// A generator by xorshift: what the library's own distributions give differs between libraries.
static uint32_t below(uint64_t &state, uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % n;
}

static void stroke(std::string &im, int x, int y, int dx, int dy, int n, char grey)
{
	for (int i = 0; i <= n; i++)
		for (int thick = 0; thick < 2; thick++)
			im[(y + i * dy + thick * dx) * SIDE + x + i * dx + thick * dy] = grey;
}

static std::string draw(int digit, uint64_t &state)
{
	int n = 6 + below(state, 4), x = 3 + below(state, 8), y = 2 + below(state, 5);
	char grey = (char)(120 + below(state, 136));
	std::string im(SIDE * SIDE, 0);

	for (char &c : im)
		c = (char)below(state, 100);
	for (int s = 0; s < 7; s++) {
		static const struct { int right, down; bool flat; } at[7] = {
			{ 0, 0, true }, { 0, 0, false }, { 1, 0, false }, { 0, 1, true },
			{ 0, 1, false }, { 1, 1, false }, { 0, 2, true },
		};

		if (segments[digit] >> s & 1)
			stroke(im, x + at[s].right * n, y + at[s].down * n, at[s].flat, !at[s].flat, n,
			       grey);
	}
	return im;
}

int main(int argc, char **argv)
{
	if (argc != 4 || atoi(argv[2]) < 1 || atoi(argv[3]) < 1) {
		fprintf(stderr, "usage: digits FOLDER COUNT SEED\n");
		return 2;
	}
	uint64_t state = 0x9e3779b97f4a7c15 * (uint64_t)atoi(argv[3]);
	std::unique_ptr<caffe::db::DB> db(caffe::db::GetDB("lmdb"));

	db->Open(argv[1], caffe::db::NEW);
	std::unique_ptr<caffe::db::Transaction> all(db->NewTransaction());
	for (int i = 0; i < atoi(argv[2]); i++) {
		caffe::Datum datum;
		std::string value;
		char key[16];

		datum.set_channels(1);
		datum.set_height(SIDE);
		datum.set_width(SIDE);
		datum.set_label(below(state, 10));
		datum.set_data(draw(datum.label(), state));
		datum.SerializeToString(&value);
		snprintf(key, sizeof(key), "%08d", i);
		all->Put(key, value);
	}
	all->Commit();
	return 0;
}
