// version(), doctor's findings and the cache: what is known without an archive.
#include "lowwater/session.h"

namespace lowwater {

std::string version() { return LOWWATER_VERSION; }

}  // namespace lowwater
