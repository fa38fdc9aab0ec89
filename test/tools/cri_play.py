# SPDX-License-Identifier: GPL-3.0-or-later
"""Play recordings of kubelet's calls to the CRI proxy, as kubelet would go on with the answers.

cri_play.py [--seed N] [--kill COMMAND] CONFIG RECORDING...

A recording is a JSON object a line: {"seq", "on", "method", "request", ...}. The calls of a pod stay in
their order; --seed shuffles those of different pods, --kill runs a shell command before every call that
ends the proxy and starts another. CONFIG is JSON: "cri" (the command), "registry", "pods" (directory of
test/tools/podresources), "sandboxes" (file of test/tools/criengine), "children" {label: digest},
"labels" {resource or claim's device: label}, "node" and "user". Prints what was played; the first answer
that is not allowed ends it:

- an image for a pod is the pod's own: the one of its annotation or of its devices, as chosen first
- absent only before it was pulled
- without a pod: the user, or an error, never absent
- what cannot be met is refused in words that name the annotation
"""
import json, random, re, subprocess, sys

SEEN, OWN = "kubernetes.io/config.seen", "dev.ocivariant/"
RECORDED = "127.0.0.1:28101"
counts = {"played": 0, "pulled": 0, "absent": 0, "refused": 0, "users": 0}
pulled, chosen = set(), {}


def die(call, why):
    sys.exit("%s: %s: %s" % (call["file"], why, json.dumps({k: call[k] for k in ("seq", "method", "request")})[:600]))


def load(config, files):
    """The calls, and by config.seen who the pods are."""
    calls, pods = [], {}
    for file in files:
        lines = open(file).read().replace(RECORDED, config["registry"]).splitlines()
        for call in sorted((c for c in map(json.loads, lines) if "seq" in c), key=lambda c: c["seq"]):
            request = call.get("request") or {}
            call["file"] = file.rsplit("/", 1)[-1]
            if call["method"] == "RunPodSandbox":
                sandbox = request["config"]
                pods[sandbox.get("annotations", {}).get(SEEN)] = sandbox["metadata"]
            elif call["method"] == "PullImage":
                pods[request["image"].get("annotations", {}).get(SEEN)] = request["sandbox_config"]["metadata"]
            if call["on"] == "image" and call["method"] in ("ImageStatus", "PullImage"):
                calls.append(call)
    return calls, pods


def group(calls, pods):
    """Of each pod its calls in order; one without annotations belongs to the pod that asked before it."""
    groups, last = {}, {}
    for call in calls:
        image = call["request"]["image"]
        seen = image.get("annotations", {}).get(SEEN)
        if seen:
            last[image["image"]] = pods.get(seen, {}).get("uid", seen)
        key = last.get(image["image"])
        if key:
            groups.setdefault(key, []).append(call)
    return groups


def shuffle(groups, seed):
    """The groups' calls in another order, each group's own kept."""
    source, out, rest = random.Random(seed), [], {k: list(v) for k, v in groups.items()}
    while rest:
        key = source.choice(sorted(rest))
        out.append(rest[key].pop(0))
        rest = {k: v for k, v in rest.items() if v}
    return out


class Player:
    def __init__(self, config, pods, kill):
        self.config, self.pods, self.kill, self.metadata = config, pods, kill, {}

    def call(self, method, request):
        if self.kill:
            subprocess.run(self.kill, shell=True, check=True)
        done = subprocess.run([self.config["cri"], self.config["proxy"], method, "-"], input=json.dumps(request), text=True, capture_output=True)
        counts["played"] += 1
        return (json.loads(done.stdout or "{}"), "") if done.returncode == 0 else (None, done.stderr)

    def pod_of(self, seen):
        pod = self.pods.get(seen) or {"name": "pod-" + re.sub(r"\W", "", seen), "uid": "uid-" + re.sub(r"\W", "", seen), "namespace": "default"}
        if seen not in self.metadata:
            self.metadata[seen] = pod
            with open(self.config["sandboxes"], "a") as file:
                print(pod["uid"], pod["name"], seen, file=file)
        return pod

    def devices(self, call, pod):
        """What kubelet says of the pod, for the proxy and as a label."""
        label, lines = self.config["node"], []
        for device in (call.get("proxy", {}).get("podresources") or {}).get("get") or []:
            kind, _, name = device.partition("=")
            if kind == "dra":
                driver, _, device = name.split("/")
                lines.append("claim %s %s %s/fake=x-%s" % (driver, device, driver, device))
                label = self.config["labels"].get(device, label)
            elif kind != "cdi":
                lines.append("plugin %s %s" % (kind, name))
                label = self.config["labels"].get(name, label)
        with open("%s/default_%s" % (self.config["pods"], pod["name"]), "w") as file:
            print("\n".join(lines), file=file)
        return label if len(lines) < 2 else self.config["node"]

    def expected(self, call, pod, image):
        """The pod's own child: what it got first, else its annotation's or its devices'."""
        key = (pod["uid"], image["image"])
        wish = image.get("annotations", {}).get(OWN + "label")
        label = wish or (self.devices(call, pod) if self.config["devices"] else self.config["node"])
        return key, chosen.get(key) or self.config["children"].get(label)

    def image_of(self, call, answer, error, key, wanted):
        """An answer with an image in it, or a refusal. True: it is the pod's."""
        if wanted is None:
            if answer is not None or OWN + "label" not in error or "InvalidArgument" not in error:
                die(call, "not refused: %s%s" % (answer, error))
            counts["refused"] += 1
            return False
        if answer is None:
            die(call, error)
        got = answer.get("image_ref") or answer["image"]["id"]
        if got != wanted:
            die(call, "another build: %s instead of %s" % (got, wanted))
        chosen[key] = got
        return True

    def pull(self, call, pod, image, key, wanted):
        request = {"image": image, "sandbox_config": {"metadata": {k: pod[k] for k in ("name", "uid", "namespace")}, "annotations": image.get("annotations", {})}}
        answer, error = self.call("PullImage", request)
        counts["pulled"] += 1
        return self.image_of(call, answer, error, key, wanted)

    def status(self, call, pod, image):
        key, wanted = self.expected(call, pod, image)
        answer, error = self.call("ImageStatus", {"image": image})
        if answer is not None and not answer.get("image"):
            counts["absent"] += 1
            if key in chosen and chosen[key] in pulled and not self.config["devices"]:
                die(call, "absent, though it was chosen and is there")
            if not self.pull(call, pod, image, key, wanted):
                return
            pulled.add(wanted)
            answer, error = self.call("ImageStatus", {"image": image})
            if answer is not None and not answer.get("image"):
                die(call, "absent after it was pulled")
        self.image_of(call, answer, error, key, wanted)

    def user(self, call, image):
        answer, error = self.call("ImageStatus", {"image": image})
        counts["users"] += 1
        if answer is None:
            if "no build of it that was chosen here" not in error or any(reference == image["image"] for _, reference in chosen):
                die(call, error)
        elif not answer.get("image"):
            die(call, "absent: containers would run as root")
        elif answer["image"].get("username") != self.config["user"]:
            die(call, "another user: %s" % answer["image"].get("username"))

    def play(self, calls):
        for call in calls:
            image = {k: call["request"]["image"][k] for k in ("image", "annotations") if k in call["request"]["image"]}
            seen = image.get("annotations", {}).get(SEEN)
            if not seen:
                self.user(call, image)
                continue
            pod = self.pod_of(seen)
            if call["method"] == "PullImage":
                key, wanted = self.expected(call, pod, image)
                if self.pull(call, pod, image, key, wanted):
                    pulled.add(wanted)
            else:
                self.status(call, pod, image)


def main(arguments):
    seed = kill = None
    while arguments[0].startswith("--"):
        option, value = arguments[0], arguments[1]
        arguments = arguments[2:]
        if option == "--seed":
            seed = int(value)
        else:
            kill = value
    config = json.load(open(arguments[0]))
    calls, pods = load(config, arguments[1:])
    if seed is not None:
        calls = shuffle(group(calls, pods), seed)
    Player(config, pods, kill).play(calls)
    print(" ".join("%s=%d" % pair for pair in sorted(counts.items())))


main(sys.argv[1:])
