# SPDX-License-Identifier: GPL-3.0-or-later
# Make lib/probe/providers/nvidia/nvidia_ids.h from the list of PCI ids (https://pci-ids.ucw.cz):
#
#   awk -f contrib/nvidia-ids.awk pci.ids > lib/probe/providers/nvidia/nvidia_ids.h
#
# The list gives a device id its chip, and the chip decides the compute capability. The result is kept
# in the repository: a build must not depend on how old the machine's own list is.
BEGIN {
    # chip -> capability. Source: NVIDIA's list of CUDA GPUs; a letter that ends a chip's name says
    # which product line it is for.
    split("G80 10  G84 11 G86 11 G92 11 G94 11 G96 11 G98 11  GT215 12 GT216 12 GT218 12  GT200 13 " \
          "GF100 20 GF110 20  GF104 21 GF106 21 GF108 21 GF114 21 GF116 21 GF117 21 GF119 21 " \
          "GK104 30 GK106 30 GK107 30  GK110 35 GK180 35 GK208 35  GK210 37 " \
          "GM107 50 GM108 50  GM200 52 GM204 52 GM206 52 " \
          "GP100 60  GP102 61 GP104 61 GP106 61 GP107 61 GP108 61  GV100 70 " \
          "TU102 75 TU104 75 TU106 75 TU116 75 TU117 75 " \
          "GA100 80  GA102 86 GA103 86 GA104 86 GA106 86 GA107 86 " \
          "AD102 89 AD103 89 AD104 89 AD106 89 AD107 89  GH100 90 " \
          "GB100 100 GB102 100  GB110 103 GB112 103  GR100 107 GR102 107  GB10B 110 " \
          "GB202 120 GB203 120 GB205 120 GB206 120 GB207 120  GB20B 121", words, " +")
    for (i = 1; i in words; i += 2)
        capability[words[i]] = words[i + 1]
    # Vera Rubin: kubevirt/kubevirt issue 19070; ascending
    n_more = split("3041 307f", more)
    for (i = 1; i <= n_more; i++)
        more_sm[i] = 107
}
# an id that the list does not have yet, at its place
function add(id, capability) {
    while (n_more > told && "x" more[told + 1] < "x" id) { # as text: 05e2 is no number
        ids[++n] = more[++told]
        sm[n] = more_sm[told]
    }
    if (n_more > told && "x" more[told + 1] == "x" id)
        told++
    ids[++n] = id
    sm[n] = capability
}
# into lines of at most 100 bytes; nothing: the last line
function put(item) {
    if (item == "" || length("   " line item) > 100) {
        print "   " line
        line = ""
    }
    line = line item
}
/^#[ \t]*Version:/ { version = $3 }
/^[0-9a-f]/ { nvidia = $1 == "10de" }
# other functions of a chip, and bridges between chips, are no GPUs
!nvidia || !/^\t[0-9a-f]/ || /Audio|USB|NVSwitch|UCSI|Serial Bus|PCIe host|PCI bridge/ { next }
{
    chip = $2
    sub(/(GLM|GL|GM|BM|M|S|b)$/, "", chip)
    if (!(chip in capability) && chip ~ /B$/) # a revision of the chip
        sub(/B$/, "", chip)
    if (chip in capability)
        add($1, capability[chip])
    # products for data centres; chips that are made for nothing else are not listed
    if (chip in capability && capability[chip] >= 50 && $0 !~ /Quadro|CMP|RTX A|DRIVE|Mobile|Laptop/ &&
        /Tesla|Server Edition|\[(A2|A10|A10G|A10M|A16|A40|L2|L4|L20|L40|L40S|L40G|T4G?)( |\])/)
        data_centre[++n_data_centre] = $1
}
END {
    print "/* SPDX-License-Identifier: GPL-3.0-or-later */"
    print "/* Made by contrib/nvidia-ids.awk from pci.ids " version " (GPL-2.0-or-later or BSD-3-Clause,"
    print " * Martin Mares and Albert Pool); do not edit. PCI device ids of NVIDIA's GPUs, ascending, and"
    print " * their compute capabilities. */"
    print "#ifndef OCV_NVIDIA_IDS_H"
    print "#define OCV_NVIDIA_IDS_H"
    print ""
    print "#include <stdint.h>"
    print ""
    print "/* clang-format off */"
    print "static const struct ocv_nvidia_id {"
    print "    uint16_t id;"
    print "    uint8_t sm;"
    print "} ocv_nvidia_ids[] = {"
    for (i = 1; i <= n; i++)
        put(sprintf(" {0x%s, %d},", ids[i], sm[i]))
    put("")
    print "};"
    print ""
    print "/* Products for data centres, ascending. */"
    print "static const uint16_t ocv_nvidia_data_centre_ids[] = {"
    for (i = 1; i <= n_data_centre; i++)
        put(sprintf(" 0x%s,", data_centre[i]))
    put("")
    print "};"
    print "/* clang-format on */"
    print ""
    print "#endif"
}
