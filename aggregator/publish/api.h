// The HTTP interface of the aggregator.
#pragma once

#include "aggregator/publish/aggregator_state.h"
#include "core/http/http_server.h"

namespace tributary::publish {

// GET /readyz?site=                        AnswerReadiness
// GET /api/v1/sites?after_site=&limit=     ListSitesResponse: configuration, counters, sources, leaves
// GET /api/v1/sites/{site}                 WatchResponse: the latest fused slot; 204 none yet, 404 unknown
//                                          site
// GET /api/v1/sites/{site}/room            Room: its plan; 404 the configuration has none
// GET /api/v1/sites/{site}/flow            SiteFlow: where its frames and tuples went
// GET /api/v1/sites/{site}/subjects.geojson  the latest fused positions on Earth; 204 none yet, 404 the plan
//                                          has no origin
// GET /api/v1/sites/{site}/burst?subject=&receiver=&epoch=
//                                          SimulatedBurst: what a receiver hears of an emitter; 204 no slot
//                                          yet, 404 its truth is no generator
// GET /api/v1/nodes?site=&after_site=&after_node=&limit=
//                                          ListNodesResponse: who reports, who learns; 404 unknown site
// GET /api/v1/events?site=&rate_hz=&subjects=&contributions=&truth=
//                                          server-sent events, WatchResponse of the latest fused slot; 10 Hz
//                                          unless asked, at most 50; 404 unknown site, or none given where
//                                          there are several. A reader that sends Last-Event-ID is told what
//                                          it missed as skipped
//
// The messages are printed with wire::MessageJson. A fault is answered with HttpProblem.
// The state outlives the server.
void AddApiRoutes(http::HttpServer& server, const AggregatorState& state);

}  // namespace tributary::publish
