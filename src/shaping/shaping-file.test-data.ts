/** The receivers of a small shaping file; tests add to them or replace a part. */
export const BASE = `receivers:
  google: {mx: ['*.google.com'], domains: [gmail.com], provider_wide: true, connections: 5, messages_per_connection: 50}
  transport-map: {connections: 20, messages_per_connection: 1000}
  default: {connections: 10, messages_per_connection: 100}
`
