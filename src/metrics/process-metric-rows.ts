/** What every process reports about itself. */
import type { MetricRow } from './metric-row.ts'

/** A round trip in a data center takes less than a millisecond; one that needs a second is overloaded. */
const ROUND_TRIP = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3]

export const PROCESS_METRICS = {
  mailstead_build_info: {
    type: 'gauge',
    help: '1; the labels are the versions of Mailstead and of Node.js.',
    labels: ['version', 'nodejs'],
    combine: 'max',
    by: 'all',
  },
  mailstead_processes: { type: 'gauge', help: 'Running processes, by role and node.', labels: [], by: 'all' },
  process_open_fds: { type: 'gauge', help: 'Open file descriptors. Only on Linux.', labels: [], by: 'all' },
  process_max_fds: {
    type: 'gauge',
    help: 'How many file descriptors a process may open. Only on Linux.',
    labels: [],
    combine: 'min',
    by: 'all',
  },
  nodejs_heap_size_used_bytes: { type: 'gauge', help: 'JavaScript heap in use.', labels: [], by: 'all' },
  nodejs_heap_size_total_bytes: { type: 'gauge', help: 'JavaScript heap allocated.', labels: [], by: 'all' },
  nodejs_heap_size_limit_bytes: {
    type: 'gauge',
    help: 'Size of the JavaScript heap at which the process ends.',
    labels: [],
    by: 'all',
  },
  nodejs_external_memory_bytes: {
    type: 'gauge',
    help: 'Memory of buffers outside of the JavaScript heap.',
    labels: [],
    by: 'all',
  },
  mailstead_event_loop_utilization_ratio: {
    type: 'gauge',
    help: 'Share of the last seconds that the event loop was busy, from 0 to 1.',
    labels: [],
    combine: 'max',
    by: 'all',
  },
  mailstead_disk_free_bytes: {
    type: 'gauge',
    help: 'Free space in the file system of DATA_DIR.',
    labels: [],
    combine: 'min',
    isOptional: true,
    by: 'all',
  },
  mailstead_disk_size_bytes: {
    type: 'gauge',
    help: 'Size of the file system of DATA_DIR.',
    labels: [],
    combine: 'min',
    isOptional: true,
    by: 'all',
  },
  mailstead_store_round_trip_seconds: {
    type: 'histogram',
    help: 'Time of a trivial query to a store, made every 5 seconds: postgresql or redis.',
    labels: ['store'],
    buckets: ROUND_TRIP,
    by: 'all',
  },
  process_cpu_seconds_total: { type: 'counter', help: 'User and system CPU time.', labels: [], by: 'all' },
  process_resident_memory_bytes: { type: 'gauge', help: 'Resident memory.', labels: [], by: 'all' },
  process_start_time_seconds: {
    type: 'gauge',
    help: 'Start time of the process, in seconds since 1970.',
    labels: [],
    combine: 'max',
    by: 'all',
  },
  mailstead_event_loop_lag_seconds: {
    type: 'gauge',
    help: 'Delay of the event loop in the last seconds: 99th percentile (p99) and maximum (max).',
    labels: ['at'],
    combine: 'max',
    by: 'all',
  },
  mailstead_redis_up: {
    type: 'gauge',
    help: '1 while the process reaches Redis, else 0.',
    labels: [],
    combine: 'min',
    by: 'all',
  },
  mailstead_database_up: {
    type: 'gauge',
    help: '1 while the process reaches PostgreSQL, else 0.',
    labels: [],
    combine: 'min',
    by: 'all',
  },
  mailstead_clock_skew_seconds: {
    type: 'gauge',
    help: "How far the clock of the process's machine is ahead of PostgreSQL's; negative if it is behind.",
    labels: [],
    combine: 'furthest',
    by: 'all',
  },
  mailstead_database_connections: {
    type: 'gauge',
    help: 'PostgreSQL connections by pool: in use, idle, and callers that wait for one.',
    labels: ['pool', 'state'],
    by: 'all',
  },
} as const satisfies Record<string, MetricRow>
