"""Nodes of the dialects of Huawei and of Volcano's older sharing, for random clusters."""

import json

from dialect_nodes import L40S, NPUS, T4, TEMPLATES, Ask, DialectNode


class Ascend(DialectNode):
    """NPUs that HAMi cuts by templates."""

    def build(self):
        self.word = self.random.choice(sorted(NPUS))
        memory, cores, _, cpus = NPUS[self.word]
        count = self.random.choice((1, 2, 4))
        out = self.unhealthy(count)
        self.cards = [{"id": f"{self.word}-{self.name}-{i}", "healthy": i not in out, "left": [memory, cores, cpus]} for i in range(count)]
        self.annotations[f"hami.io/node-register-{self.word}"] = json.dumps([
            {"id": card["id"], "index": i, "count": 8, "devmem": memory, "devcore": cores, "type": self.word, "health": card["healthy"],
             "custominfo": {"NetworkID": 0}} for i, card in enumerate(self.cards)])
        self.resources[f"huawei.com/{self.word}"] = 8 * count

    def asks(self):
        memory, cores, templates, cpus = NPUS[self.word]
        if self.random.random() < 0.3:
            return Ask({f"huawei.com/{self.word}": 1}, template=(memory, cores, cpus))
        template = self.random.choice(templates)
        return Ask({f"huawei.com/{self.word}": 1, f"huawei.com/{self.word}-memory": template[0] - self.random.choice((0, 0, 100))}, template=template)

    def place(self, wish):
        for card in self.random.sample(self.cards, len(self.cards)):
            if card["healthy"] and all(left >= amount for left, amount in zip(card["left"], wish.known["template"])):
                card["left"] = [left - amount for left, amount in zip(card["left"], wish.known["template"])]
                record = f"{card['id']},{self.word},{wish.known['template'][0]},0:;"
                return {f"hami.io/{self.word}-devices-allocated": record, "hami.io/vgpu-node": self.name}
        return None


class MindCluster(DialectNode):
    """Ascend 310P chips, listed by a ConfigMap."""

    def build(self):
        count = self.random.choice((1, 2, 4))
        out = self.unhealthy(count)
        chips = [f"Ascend310P-{i}" for i in range(count)]
        self.left = {i: [8, 7, 12] for i in range(count) if i not in out}
        self.labels = {"accelerator": "huawei-Ascend310P", "servertype": "Ascend310P-8", "node.kubernetes.io/npu.chip.name": "310P3"}
        self.annotations["baseDeviceInfos"] = json.dumps({chip: {"IP": "", "SuperDeviceID": 0} for chip in chips})
        self.resources["huawei.com/npu-core"] = 8 * count
        lists = {"huawei.com/Ascend310P": ",".join(chips[i] for i in self.left), "huawei.com/Ascend310P-Unhealthy": ",".join(chips[i] for i in sorted(out))}
        self.objects = ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"mindx-dl-deviceinfo-{self.name}", "namespace": "kube-system"},
                         "data": {"DeviceInfoCfg": json.dumps({"DeviceInfo": {"DeviceList": lists, "UpdateTime": 1000}})}},)

    def asks(self):
        labels = {"ring-controller.atlas": "ascend-310P"}
        if self.random.random() < 0.3:
            return Ask({"huawei.com/npu-core": 8}, labels=labels, name=None, amounts=(8, 7, 12))
        name = self.random.choice(sorted(TEMPLATES))
        cores, cpus, engines, more = TEMPLATES[name]
        return Ask({"huawei.com/npu-core": cores}, labels={**labels, **more}, name=name, amounts=(cores, cpus, engines))

    def place(self, wish):
        amounts, name = wish.known["amounts"], wish.known["name"]
        for chip in self.random.sample(sorted(self.left), len(self.left)):
            if all(left >= amount for left, amount in zip(self.left[chip], amounts)):
                self.left[chip] = [left - amount for left, amount in zip(self.left[chip], amounts)]
                real = f"Ascend310P-{amounts[0]}c.{amounts[1]}cpu-100-{chip}_0" if name else f"Ascend310P-{chip}"
                return {"huawei.com/npu-core": f"{chip}-{name}" if name else str(chip), "huawei.com/AscendReal": real, "predicate-time": "1000"}
        return None


class Cce(DialectNode):
    """GPUs of Huawei Cloud CCE in this project's own annotations, which say more than CCE's published ones."""

    def build(self):
        count, self.memory = self.random.choice((1, 2, 4)), self.random.choice((16160, 32768))
        out = self.unhealthy(count)
        self.cards = [{"id": f"cce-{self.name}-{i}", "healthy": i not in out, "left": [self.memory, 100], "tenants": [], "whole": False} for i in range(count)]
        self.annotations["vgpualloc.io/cce-node-register"] = json.dumps([
            {"id": card["id"], "model": "Tesla V100", "memory": self.memory, "health": card["healthy"]} for card in self.cards])
        self.resources = {"volcano.sh/gpu-mem.128Mi": count * (self.memory // 128), "volcano.sh/gpu-core.percentage": 100 * count}

    def asks(self):
        units, cores = self.random.choice((8, 20, 40, 63, 126, 256)), self.random.choice((0, 0, 5, 25, 50, 100))
        amounts = {"volcano.sh/gpu-mem.128Mi": units, **({"volcano.sh/gpu-core.percentage": cores} if cores else {})}
        return Ask(amounts, spec={"schedulerName": "volcano"}, units=units, cores=cores)

    def place(self, wish):
        units, cores = wish.known["units"], wish.known["cores"]
        if units > self.memory // 128:
            return None
        whole = units == self.memory // 128 or cores == 100
        for card in self.random.sample(self.cards, len(self.cards)):
            is_like = all((other > 0) == (cores > 0) for other in card["tenants"])
            if not card["healthy"] or card["whole"] or (whole and card["tenants"]) or not is_like or len(card["tenants"]) == 20:
                continue
            if card["left"][0] >= 128 * units and card["left"][1] >= cores:
                card["left"] = [card["left"][0] - 128 * units, card["left"][1] - cores]
                card["whole"] = whole
                card["tenants"].append(cores)
                return {"vgpualloc.io/cce-devices-allocated": f"{card['id']}," + ("whole" if whole else f"{128 * units},{cores}") + ":;"}
        return None


class Gpushare(DialectNode):
    """Volcano's older sharing: memory of a card, or whole cards. GPUs have equal parts of the memory."""

    def build(self):
        count = self.random.choice((1, 2, 4))
        self.memory = {L40S: 46068, T4: 15360}[self.random.choice((L40S, T4))]
        out = self.unhealthy(count)
        self.left = {i: self.memory for i in range(count) if i not in out}
        self.resources = {"volcano.sh/gpu-number": count, "volcano.sh/gpu-memory": count * self.memory}
        if out:
            self.annotations["volcano.sh/gpu-unhealthy-ids"] = ",".join(map(str, sorted(out)))

    def asks(self):
        if self.random.random() < 0.3:
            return Ask({"volcano.sh/gpu-number": self.random.choice((1, 1, 2))}, memory=None)
        memory = self.random.choice((1000, 4000, 7680, 15000))
        return Ask({"volcano.sh/gpu-memory": memory}, memory=memory)

    def place(self, wish):
        memory = wish.known["memory"]
        count = 1 if memory else wish.containers[0]["volcano.sh/gpu-number"]
        able = [card for card, left in self.left.items() if (left >= memory if memory else left == self.memory)]
        if len(able) < count:
            return None
        cards = self.random.sample(able, count)
        for card in cards:
            self.left[card] -= memory or self.memory
        return {"volcano.sh/gpu-index": ",".join(map(str, sorted(cards))), "volcano.sh/predicate-time": "1000"}
