/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the mirror's files. Calls go one way: mirror -> flight -> lookup -> choose, or mirror
 * -> passthrough; both end in upstream/, and both answer through answer.c.
 *
 * A request is handled in libmicrohttpd's threads, which never block. Work that needs upstream
 * becomes a job for the workers while the connection is suspended: a flight for a tag, shared by
 * all requests for that tag, or a passthrough for blobs and documents by digest. `mirror->lock`
 * guards flights, the links between requests and what they wait for, and the list of suspended
 * requests. */
#ifndef VARIANTD_MIRROR_INTERNAL_H
#define VARIANTD_MIRROR_INTERNAL_H

#include "cmd/variantd/common/workers.h"
#include "cmd/variantd/http/httpd.h"
#include "cmd/variantd/mirror/mirror.h"
#include "cmd/variantd/mirror/route.h"
#include "cmd/variantd/upstream/upstream.h"
#include "lib/internal/tags/tags.h"

#include <pthread.h>

#define LABEL_BYTES 64        /* readers accept 63 characters */
#define CHILD_KNOWN_MS 600000 /* a child that was seen is assumed to exist for this long */
#define FLIGHT_MS 10000u      /* time limit of a worker; a late result is still cached */
#define TAG_ANSWER_MS (MIRROR_ANSWER_MS - 100) /* some time for the clock and the network */
#define DOCUMENT_ANSWER_MS 10000 /* other answers of a proxy, except the body of a blob */
#define BLOB_ANSWER_MS 30000     /* until the head of a blob */
#define RECORD_ANSWER_MS 500     /* of an answer that is known, and is being recorded */

#define FLIGHT_BUCKETS 256u
#define MIRROR_ORDINARY "an image without variants" /* reason of a resolver's 404 */

struct mirror {
    const struct settings *settings;
    struct node *node;
    struct metrics *metrics;
    struct clients *clients;
    struct workers *workers;
    struct cache *choices;   /* index digest in a repository -> struct mirror_choice */
    struct cache *tags;      /* tag -> struct tag */
    struct cache *children;  /* digest in a repository -> struct seen_child */
    struct cache *responses; /* request -> struct cached_response */
    struct cache *sizes;     /* blob or document in a repository -> its bytes */
    struct cache *configs;   /* image in a repository -> struct config, for tag rules */
    struct cache *trusted;   /* document in a repository -> struct good */
    struct cache *refused; /* document in a repository, as an identity sees it -> struct refusal */
    atomic_int_fast64_t records_time; /* of the records of signatures that were read last */
    bool *private;                    /* per upstream: the two identities differ */
    struct denied {                   /* per upstream and identity; under the lock */
        uint64_t n;
        int64_t told_ms; /* time of the last log line; 0: none */
        char name[256];  /* of a repository that was refused */
    } * denied;
    struct ocv_tag_rules *rules; /* NULL unless the administrator turned them on */
    pthread_mutex_t lock;
    pthread_cond_t tick; /* wakes the clock thread */
    int64_t tick_ms;     /* when it wakes by itself */
    pthread_t clock;
    bool clock_runs, stopping;
    struct mirror_request *suspended; /* all suspended requests */
    struct passthrough *passes;       /* all that a worker is running */
    struct flight *flights[FLIGHT_BUCKETS];
    struct asks {
        size_t all, of[WORKERS_UPSTREAMS_MAX];
    } asks[2]; /* per registry: running questions by name, of untrusted and of trusted peers */
};

/** What an index gives this node. */
struct mirror_choice {
    struct refcounted item;
    enum outcome outcome; /* VARIANT, ORDINARY, NO_FIT, or UPSTREAM for one that is malformed */
    struct ocv_descriptor child;
    char label[LABEL_BYTES]; /* empty for an entry without label; for CPU levels, the platform */
    char message[256];       /* NO_FIT: what `deny` keeps away, or empty; UPSTREAM: the fault */
    bool next;               /* not the best one, which the registry lacks: not to be kept */
    char parent[OCV_DIGEST_MAX]; /* by tag rules: the document of the chosen tag; else empty */
    /* To be recorded once the child has been seen; whoever takes it out owns it. NULL: recorded
     * already, or nothing to record. */
    struct ocv_record_note *_Atomic note;
};

/** A tag as upstream last reported it. */
struct tag {
    struct refcounted item;
    struct head head;
    atomic_int_fast64_t validated_ms;
};

/** A manifest that upstream has shown to exist. */
struct seen_child {
    struct refcounted item;
    struct ocv_descriptor descriptor;
    int64_t seen_ms;
    struct document *document; /* NULL: only its head was fetched */
};

/** A cached answer, given without creating a request. */
struct cached_response {
    struct refcounted item;
    struct MHD_Response *response;
    unsigned status;
    enum outcome outcome;
    uint64_t generation;
    int64_t valid_until_ms;
    int64_t bytes;
    char label[LABEL_BYTES];
    char media_type[256]; /* media type of a child, which the client must accept; else empty */
};

/** The question: a tag, or the bytes of a chosen child. */
struct lookup_target {
    enum identity identity;
    const struct upstream *upstream;
    struct ocv_reference *reference; /* owned */
    struct ocv_descriptor child;     /* empty digest: the tag */
};

/** The result of a flight. */
struct lookup_result {
    struct refcounted item;
    enum outcome outcome;
    unsigned status;  /* a resolver's answer: 200, 404, 502, 504 */
    const char *code; /* error code of the distribution specification; static */
    char message[320];
    bool pass_through; /* upstream has something that a proxy may pass through unchanged */
    struct ocv_descriptor child;
    char label[LABEL_BYTES];
    struct document *document; /* the child's bytes, if they were asked for */
    struct ocv_descriptor top; /* upstream's document at the tag; unknown: digest empty, size -1 */
    uint64_t generation;
    int64_t validated_ms;
};

/** Look up the answer. Blocks; for workers. `want_body` may change meanwhile. `*note` is for
 *  ocv_record_note_write, or NULL. NULL: no memory. */
struct lookup_result *lookup_tag(struct mirror *mirror, const struct lookup_target *question,
                                 const atomic_bool *want_body, struct ocv_record_note **note);
struct lookup_result *lookup_child(struct mirror *mirror, const struct lookup_target *question);
/** The result of a look-up that found nothing. */
struct lookup_result *lookup_result_new(enum outcome outcome, unsigned status, const char *code,
                                        const char *message);
/** The outcome for a failed upstream request, counted in the metrics. */
struct lookup_result *lookup_result_of_error(struct mirror *mirror, const struct upstream *upstream,
                                             enum identity identity,
                                             const struct ocv_reference *reference,
                                             const struct ocv_error *err);
/** Log a registry's refusal, at most once an hour for each registry and identity. */
void denied_remember(struct mirror *mirror, const struct upstream *upstream, enum identity identity,
                     const struct ocv_reference *reference, const struct ocv_error *err);

/** The index of the document, with the images of those in it; NULL: it is none. `all`: read the
 *  platforms of its images where they stand in their configurations, though no variant is among
 *  them. Call between budget_read_begin and budget_read_end. */
int index_walk(const struct source *from, const struct ocv_reference *reference,
               const struct document *document, bool all, struct ocv_index **index,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** Where variants come from: annotations in `document`, else tag rules. `document`: the index at
 *  that name, or NULL if there is an image or nothing. `from`: where to fetch what else is needed.
 *  `*index` is NULL for an ordinary image. Call between budget_read_begin and budget_read_end; this
 *  leaves that section while it waits for a registry. `parent` (may be NULL) becomes the digest of
 *  the document of the tag that a rule chose, or empty. */
int variants_find(const struct mirror *mirror, const struct source *from,
                  const struct ocv_reference *reference, const struct document *document,
                  struct ocv_index **index, char parent[OCV_DIGEST_MAX],
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** True if a tag rule may give that name variants, as it stands for a group of tags, even without
 * an index or any document there. The choice for such a name is not cached by digest. */
bool variants_by_rule(const struct mirror *mirror, const struct ocv_reference *reference);
/** Parse a name for a question. OCV_ERR_NOT_FOUND unless its registry is configured. */
int name_parse(const struct mirror *mirror, const char *text, struct ocv_reference **reference,
               const struct upstream **upstream, struct ocv_error *err) OCV_WARN_UNUSED;
/** Get a source for a peer that is trusted with what the daemon's credentials can read, or is not.
 *  Each kind has a limit; OCV_ERR_NOMEM when it is reached. */
int source_open(struct mirror *mirror, const struct upstream *upstream, bool trusted,
                struct source *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** `status`: result of the last call. */
void source_close(struct mirror *mirror, struct source *from, bool trusted, int status);
/** The index at a name; an ordinary image is made into one. Large indexes are handled one after the
 *  other, so call `index_done` soon. `to_serve`: OCV_ERR_UNTRUSTED unless it is signed as `trust`
 *  asks. */
int index_at(struct mirror *mirror, const char *text, bool trusted, bool to_serve,
             struct ocv_index **index, size_t *reading, struct ocv_error *err) OCV_WARN_UNUSED;
void index_done(struct ocv_index **index, size_t reading);
/** With tag rules: the index of the tags for which the name stands (NULL: nothing to choose
 *  from). */
int rules_find(const struct mirror *mirror, const struct source *from,
               const struct ocv_reference *reference, struct ocv_index **index,
               char parent[OCV_DIGEST_MAX], struct ocv_error *err) OCV_WARN_UNUSED;
/** Note the choice in the index at a reference (NULL: nothing fits), to be recorded when the child
 *  has been seen. Until then the note counts as a document in the budget. A failure to record is
 *  logged once. */
void choice_note(struct mirror_choice *choice, const struct mirror *mirror,
                 const struct source *from, const struct ocv_reference *reference,
                 const struct ocv_index *index, const struct ocv_entry *entry);
void choice_drop_note(struct ocv_record_note *note);
/** True: the configuration never takes this tag, by that member of `deny`. Its choice is to serve
 *  nothing, whatever it holds. */
bool choice_denied(const struct mirror *mirror, const struct ocv_reference *reference,
                   const char **glob, const char **origin);
/** Choose for this node. NULL: no memory. */
struct mirror_choice *choice_make(const struct mirror *mirror, const struct source *from,
                                  const struct ocv_reference *reference,
                                  const struct document *document, const struct snapshot *snapshot);

/** May the document of this digest be served? It is signed as the rules ask, or a document that is
 *  names it. `from` needs its client. `signature` (may be NULL): what it is trusted by.
 *  OCV_ERR_UNTRUSTED: no, and it was logged and counted; any other error: it could not be asked, or
 *  there is no such document. */
int trust_check(struct mirror *mirror, const struct source *from,
                const struct ocv_reference *reference, const char *digest,
                struct ocv_signature *signature, struct ocv_error *err) OCV_WARN_UNUSED;
/** The same of a document that another one names, or is. */
int trust_check_member(struct mirror *mirror, const struct source *from,
                       const struct ocv_reference *reference, const char *top, const char *digest,
                       struct ocv_error *err) OCV_WARN_UNUSED;
/** Know again what the records say, as far as today's keys made those signatures, where something
 *  was written since they were read last. */
void trust_remember(struct mirror *mirror);

/** Size of a blob or document, as far as known. */
struct bounds {
    int64_t least, most;
    bool checked; /* from the bytes of the document itself, which were checked */
};
/** Store the sizes of blobs given by a manifest that was checked. */
void sizes_learn(const struct mirror *mirror, const struct ocv_reference *reference,
                 const char *media_type, const struct ocv_buffer *body);
/** Store the size of a document that was checked. */
void sizes_learn_own(const struct mirror *mirror, const struct ocv_reference *reference,
                     const char *digest, size_t len);
/** False, with zeros: nothing is known. */
bool sizes_find(const struct mirror *mirror, const struct ocv_reference *reference,
                const char *digest, struct bounds *out);

struct mirror_request {
    struct mirror *mirror;
    struct MHD_Connection *connection;
    struct route route;
    char *ns;
    const char *url, *method; /* libmicrohttpd's, until the request has ended */
    bool head;
    bool chunks; /* HTTP/1.1: the client knows where a body without length ends */
    int64_t started_us;
    /* under mirror->lock */
    bool waiting; /* suspended */
    struct httpd_suspended suspended;
    bool late; /* its deadline has passed */
    int64_t deadline_ms;
    struct mirror_request *next, **link; /* in mirror->suspended */
    struct flight *flight;
    struct mirror_request *next_waiter;
    /* results */
    struct lookup_result *result;
    struct lookup_result *first; /* the tag's result, if `result` is about the child's bytes */
    struct passthrough *pass;
    enum outcome passed_as; /* outcome to count if the answer is upstream's own */
    /* for the log */
    unsigned status;
    enum outcome outcome;
    char label[LABEL_BYTES];
    int64_t bytes;
};

/** The identity that may ask for it: the daemon's for the HEAD of a tag, which shows no content, or
 *  where all that it can read is served. */
enum identity request_identity(const struct mirror_request *request);
/** Suspend until `request_wake`, the deadline, or the stop. Call with the lock held. */
void request_sleep(struct mirror_request *request, int64_t deadline_ms);
/** Is the request suspended, and its client still waiting for the answer? Call with the lock
 * held. */
bool request_wanted(const struct mirror_request *request);
/** Suspend it no longer than that. Call with the lock held. */
void request_hurry(struct mirror_request *request, int64_t deadline_ms);
/** Call with the lock held; does nothing if the request is not suspended. */
void request_wake(struct mirror_request *request);
/** Start the thread that keeps deadlines. */
int waiting_start(struct mirror *mirror, struct ocv_error *err) OCV_WARN_UNUSED;
void waiting_stop(struct mirror *mirror);

/** Start a look-up, or join a running one. The request is suspended; when resumed it has `result`,
 *  or is late. False: refused, nothing was done. */
bool flight_join(struct mirror_request *request, const struct ocv_descriptor *child);
/** Look up what a tag would be answered with under `choose: shadow`; the request does not wait.
 *  Does nothing if the workers are full. */
void flight_shadow(const struct mirror_request *request);
/** Log and count what `n` requests would have been answered with. */
void shadow_log(const struct mirror *mirror, const struct ocv_reference *reference,
                const struct lookup_result *result, uint64_t n);
/** The request, if it waits for a look-up, stops waiting. True: it got the result, which is known
 *  and only being recorded. Call with the lock held. */
bool flight_leave(struct mirror_request *request);

/** Pass the request through. It is suspended, and has `pass` when resumed. False: refused. */
bool passthrough_start(struct mirror_request *request);
/** Answer with upstream's response: its head has arrived, or the request is late. */
enum MHD_Result passthrough_answer(struct mirror_request *request);
/** The request ends, or no longer needs the pass. */
void passthrough_leave(struct mirror_request *request);
/** Once a second: disconnect slow readers of blobs if others wait for a worker. Call with the lock
 *  held. */
void passthrough_make_way(struct mirror *mirror);

bool accepts(struct MHD_Connection *connection, const char *media_type);
/** 502: it exists, but there is no memory for it. NULL: no memory. */
struct lookup_result *lookup_result_busy(void);
/** Queue the response, which is taken over, and fill in the request's log entry. */
enum MHD_Result answer(struct mirror_request *request, struct MHD_Response *response,
                       unsigned status, enum outcome outcome, int64_t bytes);
enum MHD_Result answer_error(struct mirror_request *request, unsigned status, enum outcome outcome,
                             const char *code, const char *message);
/** 504: the registry has not answered. */
enum MHD_Result answer_late(struct mirror_request *r);
enum MHD_Result answer_busy(struct mirror_request *request);
enum MHD_Result answer_base(struct mirror_request *request);
/** A tag's chosen child; for a GET `document` has its bytes. */
enum MHD_Result answer_child(struct mirror_request *request, const struct lookup_result *result,
                             struct document *document);
/** A proxy's answer to the HEAD of a tag that is passed through unchanged. */
enum MHD_Result answer_top(struct mirror_request *request, const struct lookup_result *result);
/** A resolver's 404 for a tag that has no variant for this node. */
enum MHD_Result answer_nothing(struct mirror_request *request, const struct lookup_result *result);
/** The answer to a HEAD: Content-Length without a body. -1: unknown, and the connection is closed.
 *  NULL: no memory. */
struct MHD_Response *answer_head(int64_t size);
/** Add the headers of every answer. False: no memory. */
bool answer_common(struct MHD_Response *response, const struct mirror_request *request);

/** Answer from the cache of answers; false if it has none. */
bool answer_from_cache(struct mirror *mirror, struct MHD_Connection *connection, const char *url,
                       const char *method, int64_t started_us, enum MHD_Result *result);
void log_answer(struct mirror *mirror, struct MHD_Connection *connection, const char *method,
                const char *url, const struct log_request *what);

/* Shared by the files of a look-up. */

/** State of one look-up. */
struct lookup {
    struct mirror *mirror;
    const struct lookup_target *q;
    struct source from; /* its client is made when first needed */
    const struct snapshot *snapshot;
    int status; /* of the failure, if any */
    struct ocv_record_note *note;
};

/** The key of a tag or a digest in a repository, as an identity sees it. */
void object_key(unsigned identity, const char *name, const char *object, struct key *key);
int lookup_need_client(struct lookup *lookup, struct ocv_error *err) OCV_WARN_UNUSED;
struct lookup_result *lookup_failed(struct lookup *lookup, const struct ocv_error *err);
/** The chosen child if upstream has it, else the reason why not. */
struct lookup_result *lookup_check_child(struct lookup *lookup, const struct ocv_descriptor *wanted,
                                         bool body);

/* Shared by the two sides of a pass: the request, and the worker that asks upstream. */

#define ACCEPT_MAX 4096u /* all Accept headers together, as passed on */
#define RANGE_MAX 64u
#define QUERY_VALUE_MAX 128u /* longer values are dropped */
#define QUERY_MAX 1024u      /* two such arguments, escaped, with their names */

struct passthrough {
    struct refcounted item;
    struct job job;
    struct mirror *mirror;
    struct passthrough *next, **link; /* in mirror->passes, under its lock, while a worker has it */
    struct mirror_request *request;   /* under the lock; NULL after the request has left */
    bool slow;                        /* under the lock: the reader was slow at the last check */
    /* the question */
    enum route_kind kind;
    enum identity identity;
    const struct upstream *upstream;
    struct ocv_reference *reference;
    bool no_body;        /* the request is a HEAD; */
    bool head_only;      /* so is what upstream is asked */
    bool chunks;         /* the request's */
    struct bounds known; /* what is known of its size */
    int64_t until_ms;
    char accept[ACCEPT_MAX], range[RANGE_MAX];
    struct ocv_buffer query;
    /* the answer: the worker's until `arrived`, the request's afterwards */
    bool arrived;
    struct lookup_result *no; /* the reason of a failure, or NULL */
    struct ocv_stream_head head;
    char *list_next;
    struct ocv_buffer body;
    struct stream *stream;
    struct ocv_stream *question; /* while a registry is asked, else NULL */
    size_t full;                 /* bytes that come at once as long as there are more */
    size_t held;                 /* bytes reserved for it in the budget */
    int fd;
    int64_t from, size; /* the part of a file to send */
};

/** True for a blob whose bytes are sent, not only its head. */
bool passthrough_streams(const struct passthrough *pass);
/** Ask upstream and answer; for workers. */
void passthrough_run(struct job *job);

#endif
