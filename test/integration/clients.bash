# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Unmodified clients as one set of verbs (`load clients` after cri): $CLIENT is ctr, cri, podman, buildah
# or skopeo. ctr and cri read $STATE/certs.d, the others $CONTAINERS_REGISTRIES_CONF; buildah and skopeo
# put images into podman's store.
#
#   pull [OPTION...] IMAGE              a fresh pull: nothing of an earlier one helps; CTR_PULL: an
#                                       option of ctr's
#   pull_as USER:PASSWORD IMAGE
#   stored IMAGE                        the digest that the store has for the name
#   record IMAGE                        all that the store says of it
#   says IMAGE                          what its container prints
#   forget_images
#   certs_d MACHINE PATH HOST...        what containerd reads: these hosts by that machine's daemon, with
#                                       PATH before /v2; "none": as without us
#   start_images                        registries and machines: $SERVER, $IMAGE, $WIDE, $PRIVATE
#   private_as_without_us               $PRIVATE/demo/app:1 comes with its user's own password alone

# registries with images that these clients pull, and three machines in front of them
start_images()
{
    make_programs "$STATE/layout"
    make_wide "$STATE/layout"
    start_registry
    export SERVER=$REGISTRY IMAGE=$REGISTRY/demo/app:1 WIDE=$REGISTRY/demo/wide:1
    push_layout "$STATE/layout:app" "$IMAGE"
    push_layout "$STATE/layout:wide" "$WIDE"
    push_layout "$STATE/layout:cpu.v3" "$REGISTRY/demo/plain:1"
    start_private "$STATE/layout" app
    make_levels "$STATE/layout"
    push_layout "$STATE/layout:null" "$SERVER/demo/levels:null"
    push_layout "$STATE/layout:level.v3" "$SERVER/demo/levels:v3"
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' \
        --data-binary "@$STATE/levels.json" "http://$SERVER/v2/demo/levels/manifests/1"
    start_levels --registry "$SERVER=http://$SERVER"
    start_machines --registry "$SERVER=http://$SERVER" --registry "$PRIVATE=http://$PRIVATE"
}

forget_images()
{
    case $CLIENT in
    ctr) ctr images ls -q | xargs --no-run-if-empty ctr images rm --sync >/dev/null ;;
    cri) ctr -a "$STATE/cri.sock" -n k8s.io images ls -q | grep -v pause |
        xargs --no-run-if-empty ctr -a "$STATE/cri.sock" -n k8s.io images rm --sync >/dev/null ;;
    *) podman rmi --all --force >/dev/null ;; # names that an image had stay with it
    esac
}

pull()
{
    local image=${*: -1}
    forget_images
    case $CLIENT in
    ctr) ctr images pull --hosts-dir "$STATE/certs.d" ${CTR_PULL:+"$CTR_PULL"} "$@" ;;
    cri) cri pull "$@" ;;
    podman) podman pull --quiet "$@" ;;
    buildah)
        echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$STATE/policy.json"
        buildah pull --quiet --policy always --signature-policy "$STATE/policy.json" "$@"
        ;;
    skopeo) skopeo_copy "${@:1:$#-1}" "docker://$image" "containers-storage:$image" ;;
    esac
}

skopeo_copy()
{
    skopeo --insecure-policy --registries-conf "$CONTAINERS_REGISTRIES_CONF" copy --quiet --preserve-digests "$@"
}

pull_as()
{
    case $CLIENT in
    ctr) pull --user "$@" ;;
    skopeo) pull --src-creds "$@" ;;
    podman | buildah) pull --creds "$@" ;;
    cri) # like a kubelet with a pull secret
        forget_images
        cri PullImage "$(jq -n --arg image "$2" --arg user "${1%%:*}" --arg password "${1#*:}" \
            --arg host "${SCHEME:-http}://${2%%/*}" '{image: {image: $image},
                auth: {username: $user, password: $password, server_address: $host}}')"
        ;;
    esac
}

stored()
{
    case $CLIENT in
    ctr) ctr_digest "$1" ;;
    cri) cri_digest "$1" ;;
    *) podman image inspect --format '{{.Digest}}' "$1" ;;
    esac
}

record()
{
    case $CLIENT in
    ctr) ctr images ls "name==$1" ;;
    cri) cri status "$1" ;;
    *) podman image inspect "$1" ;;
    esac
}

says()
{
    local container
    case $CLIENT in
    ctr) # into a file: under load what was printed was empty now and then; the cause is not known
        rm -rf "$STATE/said"
        ctr run --rm --log-uri "file://$STATE/said" "$1" "test-$RANDOM$RANDOM" && cat "$STATE/said"
        ;;
    cri) cri run "$1" ;;
    buildah)
        # into a file, as above: here, too, with status 0
        rm -rf "$STATE/said"
        mkdir "$STATE/said"
        container=$(buildah from --quiet --pull=false "$1") &&
            buildah run --isolation chroot --volume "$STATE/said:/said" "$container" /say /said/it &&
            buildah rm "$container" >/dev/null && cat "$STATE/said/it"
        ;;
    *)
        rm -rf "$STATE/said"
        mkdir "$STATE/said"
        podman run --rm --pull never --network none --volume "$STATE/said:/said" --env SAY_INTO=/said/it "$1" &&
            cat "$STATE/said/it"
        ;;
    esac
}

certs_d()
{
    local machine=$1 path=$2 host
    shift 2
    rm -rf "$STATE/certs.d"
    mkdir "$STATE/certs.d"
    export VARIANTD_SOCKET=$STATE/$machine.sock
    [ "$machine" != none ] || return 0
    for host; do
        hosts_toml "$STATE/certs.d" "$host" "http://$host" "http://$(machine "$machine")$path"
    done
}

# shellcheck disable=SC2154 # `run` sets output
private_as_without_us()
{
    local side before image=$PRIVATE/demo/app:1
    for side in none h100; do
        through "$side"
        run ! pull "$image"
        run ! pull_as user:wrong "$image"
        [ "$side" = none ] || before=$(outcome denied)
        run -0 pull_as user:secret "$image"
        [ "$side" = none ] || [ "$(outcome denied)" -gt "$before" ]
        [[ $CLIENT != c* ]] || [ "$(stored "$image")" = "$(index_digest)" ]
        run -0 --separate-stderr says "$image"
        [ "$output" = "this is null" ]
    done
}
