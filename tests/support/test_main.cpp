// The only file that carries Catch2's main; every test program links this object.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
