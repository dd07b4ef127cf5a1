package monitors

// The advance widths of DejaVu Sans, of which Verdana is a relative of nearly the same widths, in units of which an em has
// 2048: of the printable characters of ASCII, and of the Cyrillic letters.
const (
	unitsPerEm    = 2048
	firstASCII    = ' '
	firstCyrillic = 'Ѐ'
	otherWidth    = 2025 // of a wide letter, for all others
)

var widthsASCII = [...]int{
	651, 821, 942, 1716, 1303, 1946, 1597, 563, 799, 799, 1024, 1716, 651, 739, 651, 690,
	1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 690, 690, 1716, 1716, 1716, 1087,
	2048, 1401, 1405, 1430, 1577, 1294, 1178, 1587, 1540, 604, 604, 1343, 1141, 1767, 1532, 1612,
	1235, 1612, 1423, 1300, 1251, 1499, 1401, 2025, 1403, 1251, 1403, 799, 690, 799, 1716, 1024,
	1024, 1255, 1300, 1126, 1300, 1260, 721, 1300, 1298, 569, 569, 1186, 569, 1995, 1298, 1253,
	1300, 1300, 842, 1067, 803, 1298, 1212, 1675, 1212, 1212, 1075, 1303, 690, 1303, 1716,
}

var widthsCyrillic = [...]int{
	1294, 1294, 1610, 1249, 1430, 1300, 604, 604, 604, 2240, 2140, 1610, 1454, 1532, 1248, 1540,
	1401, 1405, 1405, 1249, 1600, 1294, 2206, 1313, 1532, 1532, 1454, 1540, 1767, 1540, 1612, 1540,
	1235, 1430, 1251, 1248, 1763, 1403, 1590, 1404, 2190, 2240, 1705, 1807, 1405, 1430, 2211, 1423,
	1255, 1263, 1207, 1076, 1416, 1260, 1845, 1089, 1331, 1331, 1237, 1309, 1545, 1339, 1253, 1339,
	1300, 1126, 1193, 1212, 1751, 1212, 1394, 1210, 1874, 1929, 1447, 1617, 1207, 1124, 1724, 1232,
	1260, 1260, 1280, 1076, 1124, 1067, 569, 569, 569, 1848, 1840, 1335, 1237, 1331, 1212, 1339,
}

// widthOf is how wide a text is in a size of the font, in tenths of its unit.
func widthOf(text string, size int) int {
	units := 0
	for _, r := range text {
		switch {
		case r >= firstASCII && int(r-firstASCII) < len(widthsASCII):
			units += widthsASCII[r-firstASCII]
		case r >= firstCyrillic && int(r-firstCyrillic) < len(widthsCyrillic):
			units += widthsCyrillic[r-firstCyrillic]
		default:
			units += otherWidth
		}
	}
	return (units*size*10 + unitsPerEm/2) / unitsPerEm
}
