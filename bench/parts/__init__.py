# SPDX-License-Identifier: Apache-2.0
"""The parts of `make bench`: each module's section() measures and returns Markdown."""
