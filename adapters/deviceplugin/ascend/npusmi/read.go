package npusmi

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/ascend/chips"
)

// fieldsOf are lines `name : value`, by the name in small letters. The first of a name counts.
func fieldsOf(output string) map[string]string {
	fields := map[string]string{}
	for _, line := range strings.Split(output, "\n") {
		name, value, is := strings.Cut(line, ":")
		name = strings.ToLower(strings.Join(strings.Fields(name), " "))
		if _, isKnown := fields[name]; is && name != "" && !isKnown {
			fields[name] = strings.TrimSpace(value)
		}
	}
	return fields
}

// columns are what stands between two and more spaces, or between bars.
var columns = regexp.MustCompile(`\s{2,}|\t+|\s*\|\s*`)

// cellsOf are the cells of a line of a table.
func cellsOf(line string) []string {
	line = strings.Trim(line, " \t\r|")
	if line == "" {
		return nil
	}
	return columns.Split(line, -1)
}

// rowsOf are the rows of the table whose header has these columns, each by the header's names in small letters. ok is whether there is
// such a header. Lines of another number of cells end it, except rules.
func rowsOf(output string, needed ...string) (rows []map[string]string, ok bool) {
	var header []string
	for _, line := range strings.Split(output, "\n") {
		if strings.Trim(line, "+-=| \t\r") == "" {
			continue
		}
		cells := cellsOf(line)
		if header == nil {
			header = headerOf(cells, needed)
			continue
		}
		if len(cells) != len(header) {
			break
		}
		row := map[string]string{}
		for i, name := range header {
			row[name] = cells[i]
		}
		rows = append(rows, row)
	}
	return rows, header != nil
}

// headerOf are the names of columns in small letters, if all that are needed are there.
func headerOf(cells []string, needed []string) []string {
	has := map[string]bool{}
	names := make([]string, len(cells))
	for i, cell := range cells {
		names[i] = strings.ToLower(strings.ReplaceAll(cell, "-", " "))
		has[names[i]] = true
	}
	for _, name := range needed {
		if !has[name] {
			return nil
		}
	}
	return names
}

// chipsOf reads `npu-smi info -m`. Rows without a logic id are no chips.
func chipsOf(output string) ([]chips.Chip, error) {
	rows, ok := rowsOf(output, "npu id", "chip id", "chip logic id")
	if !ok {
		return nil, fmt.Errorf("npu-smi info -m: no columns NPU ID, Chip ID and Chip Logic ID in %q", output)
	}
	var result []chips.Chip
	for _, row := range rows {
		logic := row["chip logic id"]
		if _, err := strconv.ParseInt(logic, 10, 32); err != nil {
			continue // "-": a controller
		}
		physical := logic
		for _, name := range []string{"chip phy id", "chip physical id", "phy id"} {
			if value, is := row[name]; is {
				physical = value
			}
		}
		numbers := map[string]int32{}
		for name, value := range map[string]string{"NPU ID": row["npu id"], "Chip ID": row["chip id"], "Chip Logic ID": logic,
			"Chip Phy ID": physical} {
			number, err := strconv.ParseInt(value, 10, 32)
			if err != nil || number < 0 {
				return nil, fmt.Errorf("npu-smi info -m: %s: %q, expected a number from 0", name, value)
			}
			numbers[name] = int32(number)
		}
		result = append(result, chips.Chip{LogicID: numbers["Chip Logic ID"], PhyID: numbers["Chip Phy ID"], CardID: numbers["NPU ID"],
			DeviceID: numbers["Chip ID"]})
	}
	return result, nil
}

// words are hexadecimal words between spaces or dashes.
var words = regexp.MustCompile(`^[0-9A-Fa-f]+([ -]+[0-9A-Fa-f]+)+$`)

// vdieOf is a vdie as schedulers have it: words in capitals joined by dashes; empty where it is none.
func vdieOf(text string) string {
	text = strings.TrimSpace(text)
	if !words.MatchString(text) {
		return ""
	}
	return strings.ToUpper(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '-' }), "-"))
}

// noContainer are what stands for no container.
var noContainer = regexp.MustCompile(`^(?i:f+|0+|na|n/a|-)?$`)

// vnpusOf reads `npu-smi info -t info-vnpu`.
func vnpusOf(output string) ([]chips.VNPU, error) {
	rows, ok := rowsOf(output, "vnpu id", "container id", "status")
	if !ok {
		if total, is := fieldsOf(strings.ReplaceAll(output, "|", " "))["total number of vnpu"]; is && total == "0" {
			return nil, nil
		}
		return nil, fmt.Errorf("npu-smi info -t info-vnpu: no columns Vnpu ID, Container ID and Status in %q", output)
	}
	var result []chips.VNPU
	for _, row := range rows {
		id, err := strconv.ParseUint(row["vnpu id"], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("npu-smi info -t info-vnpu: Vnpu ID: %q, expected a number", row["vnpu id"])
		}
		isIdle := row["status"] == "0" && noContainer.MatchString(row["container id"])
		result = append(result, chips.VNPU{ID: uint32(id), Template: row["template name"], ContainerUsed: !isIdle})
	}
	return result, nil
}
