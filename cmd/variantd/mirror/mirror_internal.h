/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the mirror share. Calls go one way: mirror -> flight -> lookup -> choose, or
 * mirror -> passthrough; both end in upstream/. All of them answer through answer.c.
 *
 * A request is handled in libmicrohttpd's threads, which never wait. What needs upstream becomes a
 * job for the workers while its connection is suspended: a flight for a tag, which all requests for
 * that tag share, or a passthrough for blobs and documents by digest. `mirror->lock` guards
 * flights, the links between requests and what they wait for, and the list of suspended requests.
 */
#ifndef VARIANTD_MIRROR_INTERNAL_H
#define VARIANTD_MIRROR_INTERNAL_H

#include "cmd/variantd/common/workers.h"
#include "cmd/variantd/http/httpd.h"
#include "cmd/variantd/mirror/mirror.h"
#include "cmd/variantd/mirror/route.h"
#include "cmd/variantd/upstream/upstream.h"
#include "lib/tags/tags.h"

#include <pthread.h>

#define LABEL_BYTES 64        /* readers accept 63 characters */
#define CHILD_KNOWN_MS 600000 /* a child that was seen is taken to exist for so long */
#define FLIGHT_MS 10000u      /* a worker's patience; what comes late is remembered, at least */
#define TAG_ANSWER_MS (MIRROR_ANSWER_MS - 100) /* the clock and the network take some time, too */
#define DOCUMENT_ANSWER_MS 10000               /* a proxy's answer to anything but tags and blobs */
#define BLOB_ANSWER_MS 30000                   /* the head of a blob */

#define FLIGHT_BUCKETS 256u
#define MIRROR_ORDINARY "an image without variants" /* a resolver says of what it leaves alone */

struct mirror {
    const struct settings *settings;
    struct node *node;
    struct metrics *metrics;
    struct clients *clients;
    struct workers *workers;
    struct cache *choices;  /* index digest in a repository -> struct mirror_choice */
    struct cache *tags;     /* tag -> struct tag */
    struct cache *children; /* digest in a repository -> struct seen_child */
    struct cache *ready;    /* request -> struct cached_response */
    struct cache *sizes;    /* blob or document in a repository -> its bytes */
    struct cache *configs;  /* image in a repository -> struct config, for tag rules */
    bool *private;          /* by upstream: the two identities differ */
    struct denied {         /* by upstream, for each identity; under the lock */
        uint64_t n;
        int64_t told_ms; /* when the log was told; 0: never */
        char name[256];  /* of a repository that was refused */
    } * denied;
    struct ocv_tag_rules *rules; /* NULL unless the administrator turned them on */
    pthread_mutex_t lock;
    pthread_cond_t tick; /* the clock has something to look at */
    int64_t tick_ms;     /* when it will by itself */
    pthread_t clock;
    bool clock_runs, stopping;
    struct mirror_request *suspended; /* all that wait */
    struct passthrough *passes;       /* all that a worker has */
    struct flight *flights[FLIGHT_BUCKETS];
    struct asks {
        size_t all, of[WORKERS_UPSTREAMS_MAX];
    } asks[2]; /* by registry: questions by name of peers that are not trusted, and that are */
};

/* ---- what is remembered ---------------------------------------------------------------------- */

/** What an index means on this node. */
struct mirror_choice {
    struct refcounted item;
    enum outcome outcome; /* VARIANT, ORDINARY, NO_FIT, or UPSTREAM for one that is malformed */
    struct ocv_descriptor child;
    char label[LABEL_BYTES]; /* empty for an entry without label; of levels, the platform */
    char message[256];
    /* To be recorded once the child has been seen; the thread that takes it out owns it. NULL:
     * recorded already, or nothing to record. */
    struct ocv_record_note *_Atomic note;
};

/** What a tag was when upstream was last asked. */
struct tag {
    struct refcounted item;
    struct head head;
    atomic_int_fast64_t validated_ms;
};

/** A manifest that has been seen upstream under its digest. */
struct seen_child {
    struct refcounted item;
    struct ocv_descriptor descriptor;
    int64_t seen_ms;
    struct document *document; /* or NULL: only its head was asked for */
};

/** An answer that may be given again without a request. */
struct cached_response {
    struct refcounted item;
    struct MHD_Response *response;
    unsigned status;
    enum outcome outcome;
    uint64_t generation;
    int64_t valid_until_ms;
    int64_t bytes;
    char label[LABEL_BYTES];
    char media_type[256]; /* of a child, which the client must accept; else empty */
};

/* ---- tags ------------------------------------------------------------------------------------ */

/** What is asked for: a tag, or the bytes of a child that was chosen. */
struct lookup_target {
    enum identity identity;
    const struct upstream *upstream;
    struct ocv_reference *reference; /* owned */
    struct ocv_descriptor child;     /* digest empty: the tag */
};

/** The end of a flight. */
struct lookup_result {
    struct refcounted item;
    enum outcome outcome;
    unsigned status;  /* what a resolver answers: 200, 404, 502, 504 */
    const char *code; /* of the distribution specification; static */
    char message[320];
    bool pass_through; /* upstream has something there that a proxy may hand through as it is */
    struct ocv_descriptor child;
    char label[LABEL_BYTES];
    struct document *document; /* the child's bytes, where they were asked for */
    struct ocv_descriptor top; /* what upstream has at the tag; digest empty, size -1: not known */
    uint64_t generation;
    int64_t validated_ms;
};

/** Find the answer. Blocks; for workers. `want_body` may change while it runs. NULL: no memory. */
struct lookup_result *lookup_tag(struct mirror *mirror, const struct lookup_target *question,
                                 const atomic_bool *want_body);
struct lookup_result *lookup_child(struct mirror *mirror, const struct lookup_target *question);
/** A lookup that found nothing. */
struct lookup_result *lookup_result_new(enum outcome outcome, unsigned status, const char *code,
                                        const char *message);
/** The outcome for a failed upstream request, counted in the metrics. */
struct lookup_result *lookup_result_of_error(struct mirror *mirror, const struct upstream *upstream,
                                             enum identity identity,
                                             const struct ocv_reference *reference,
                                             const struct ocv_error *err);
/** A registry refused that; logged once in an hour for each registry and identity. */
void denied_remember(struct mirror *mirror, const struct upstream *upstream, enum identity identity,
                     const struct ocv_reference *reference, const struct ocv_error *err);

/** Where variants come from, in one place: annotations, else tag rules. `document`: the index at
 *  that name, or NULL where there is an image or nothing. `from`: whom to ask for what else is
 *  needed. `*index` NULL: an ordinary image. Called while the document is read (budget_read_begin),
 * and leaves that while it waits for a registry. */
int variants_find(const struct mirror *mirror, const struct source *from,
                  const struct ocv_reference *reference, const struct document *document,
                  struct ocv_index **index, struct ocv_error *err) OCV_WARN_UNUSED;
/** May a rule give that name variants, even where there is no index or nothing at all? What such a
 *  name means is not remembered by its digest. */
bool variants_by_rule(const struct mirror *mirror, const struct ocv_reference *reference);
/** Is there a choice among the processor's levels, too, where an index has no variants? */
bool levels_by_setting(const struct mirror *mirror, const struct ocv_reference *reference);
/** For questions by name. The registry is one that is configured, or OCV_ERR_NOT_FOUND. */
int name_parse(const struct mirror *mirror, const char *text, struct ocv_reference **reference,
               const struct upstream **upstream, struct ocv_error *err) OCV_WARN_UNUSED;
/** Whom to ask on behalf of a peer that is trusted with what the daemon's credentials can read, or
 *  is not: each kind has its share of places, and OCV_ERR_NOMEM where that is taken. */
int source_open(struct mirror *mirror, const struct upstream *upstream, bool trusted,
                struct source *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** `status`: how the last call ended. */
void source_close(struct mirror *mirror, struct source *from, bool trusted, int status);
/** The index at a name; an ordinary image becomes one, too. Large ones are looked at one after the
 *  other: say `index_done` soon. */
int index_at(struct mirror *mirror, const char *text, bool trusted, struct ocv_index **index,
             size_t *reading, struct ocv_error *err) OCV_WARN_UNUSED;
void index_done(struct ocv_index **index, size_t reading);
/** By tag rules: does one say that the name stands for a group of tags, and the index of them
 * (NULL: nothing to choose). */
bool rules_name(const struct mirror *mirror, const struct ocv_reference *reference);
int rules_find(const struct mirror *mirror, const struct source *from,
               const struct ocv_reference *reference, struct ocv_index **index,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** Note what was chosen in the index at a reference (NULL: nothing fits), to be recorded when the
 *  child was seen; until then the note is one of the documents that wait. What cannot be recorded
 * is logged once. */
void choice_note(struct mirror_choice *choice, const struct mirror *mirror,
                 const struct source *from, const struct ocv_reference *reference,
                 const struct ocv_index *index, const struct ocv_entry *entry);
void choice_drop_note(struct ocv_record_note *note);
/** Record what was chosen, once, if it was seen to be there; else forget what was to be recorded.
 */
void choice_settle(const struct mirror *mirror, struct mirror_choice *choice, bool seen);
/** Decide for this node. NULL: no memory. */
struct mirror_choice *choice_make(const struct mirror *mirror, const struct source *from,
                                  const struct ocv_reference *reference,
                                  const struct document *document, const struct snapshot *snapshot);

/** How large a blob or document is, as far as that is known. */
struct bounds {
    int64_t least, most;
    bool checked; /* its own bytes said so, and it is a document */
};
/** Remember what a manifest that was checked says about the sizes of its blobs. */
void sizes_learn(const struct mirror *mirror, const struct ocv_reference *reference,
                 const char *media_type, const struct ocv_buffer *body);
/** Remember the size of a document that was checked. */
void sizes_learn_own(const struct mirror *mirror, const struct ocv_reference *reference,
                     const char *digest, size_t len);
/** False, and zeros: nothing is known. */
bool sizes_find(const struct mirror *mirror, const struct ocv_reference *reference,
                const char *digest, struct bounds *out);

/* ---- requests -------------------------------------------------------------------------------- */

struct mirror_request {
    struct mirror *mirror;
    struct MHD_Connection *connection;
    struct route route;
    char *ns;
    const char *url, *method; /* libmicrohttpd's, until the request has ended */
    bool head;
    bool chunks; /* HTTP/1.1: its client knows where a body without length ends */
    int64_t started_us;
    /* under mirror->lock */
    bool waiting; /* suspended */
    struct httpd_suspended suspended;
    bool late; /* its time was up */
    int64_t deadline_ms;
    struct mirror_request *next, **link; /* in mirror->suspended */
    struct flight *flight;
    struct mirror_request *next_waiter;
    /* results */
    struct lookup_result *result;
    struct lookup_result *first; /* the tag's, when `result` is about the child's bytes */
    struct passthrough *pass;
    enum outcome passed_as; /* what counts where the answer is upstream's own */
    /* for the log */
    unsigned status;
    enum outcome outcome;
    char label[LABEL_BYTES];
    int64_t bytes;
};

/** Suspend until `request_wake`, the deadline, or the stop. With the lock held. */
void request_sleep(struct mirror_request *request, int64_t deadline_ms);
/** Is the request suspended, and its client still waiting for the answer? Call with the lock
 * held. */
bool request_wanted(const struct mirror_request *request);
/** With the lock held; does nothing if it does not wait. */
void request_wake(struct mirror_request *request);
/** Start the thread that keeps deadlines. */
int waiting_start(struct mirror *mirror, struct ocv_error *err) OCV_WARN_UNUSED;
void waiting_stop(struct mirror *mirror);

/** Start a look-up, or join the one that runs; the request is suspended, and has `result` when it
 * is resumed, or is late. False: refused, nothing happens. */
bool flight_join(struct mirror_request *request, const struct ocv_descriptor *child);
/** Look up what a tag would be answered with under `choose: shadow`; the request does not wait.
 * Without a free place nothing is looked up. */
void flight_shadow(const struct mirror_request *request);
/** Log what `n` requests would have got, and count it. */
void shadow_tell(const struct mirror *mirror, const struct ocv_reference *reference,
                 const struct lookup_result *result, uint64_t n);
/** The request no longer waits for it. With the lock held. */
void flight_leave(struct mirror_request *request);

/* ---- passes ---------------------------------------------------------------------------------- */

/** Pass the request through: it is suspended, and has `pass` when it is resumed. False: refused. */
bool passthrough_start(struct mirror_request *request);
/** Answer with what came; the head is there, or the request is late. */
enum MHD_Result passthrough_answer(struct mirror_request *request);
/** The request ends or no longer wants it. */
void passthrough_leave(struct mirror_request *request);
/** Once a second: cut slow readers of blobs where others wait for their places. With the lock
 *  held. */
void passthrough_make_way(struct mirror *mirror);
/** Cut all of them. With the lock held. */
void passthrough_stop_all(struct mirror *mirror);

/* ---- answers --------------------------------------------------------------------------------- */

bool accepts(struct MHD_Connection *connection, const char *media_type);
/** 502: what is asked for is there, but no room for it. NULL: no memory. */
struct lookup_result *lookup_result_busy(void);
/** Queue it; fills the request's part of the log. Drops the response. */
enum MHD_Result answer(struct mirror_request *request, struct MHD_Response *response,
                       unsigned status, enum outcome outcome, int64_t bytes);
enum MHD_Result answer_error(struct mirror_request *request, unsigned status, enum outcome outcome,
                             const char *code, const char *message);
enum MHD_Result answer_busy(struct mirror_request *request);
enum MHD_Result answer_base(struct mirror_request *request);
/** The chosen child of a tag; `document` are its bytes, for a GET. */
enum MHD_Result answer_child(struct mirror_request *request, const struct lookup_result *result,
                             struct document *document);
/** A proxy's answer to the HEAD of a tag that is passed on as it is. */
enum MHD_Result answer_top(struct mirror_request *request, const struct lookup_result *result);
/** A resolver's 404 for a tag that has no variant for this node. */
enum MHD_Result answer_nothing(struct mirror_request *request, const struct lookup_result *result);
/** The answer to a HEAD: a Content-Length without a body. -1: not known, and the connection ends.
 *  NULL: no memory. */
struct MHD_Response *answer_head(int64_t size);
/** Headers that every answer has. False: no memory. */
bool answer_common(struct MHD_Response *response, const struct mirror_request *request);

/** Answer at once from what is ready; false: there is nothing. */
bool ready_answer(struct mirror *mirror, struct MHD_Connection *connection, const char *url,
                  const char *method, int64_t started_us, enum MHD_Result *result);
void log_answer(struct mirror *mirror, struct MHD_Connection *connection, const char *method,
                const char *url, const struct log_request *what);

#endif
