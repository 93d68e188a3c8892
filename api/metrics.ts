/**
 * The figures of this process in Prometheus' text form (exposition format 0.0.4). Observing is an addition to a number; nothing is
 * formatted before someone asks. Labels are names of ours only, so the number of series is bounded.
 */
export interface Metrics {
  /** One answered request. `route` is a route's name, or `none`. */
  observe(route: string, status: number, seconds: number): void
  /** A figure that is read when asked for. */
  add(figure: Figure): void
  render(): string
}

export interface Figure {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly read: () => number
}

/** Upper bounds in seconds: an accept takes milliseconds, a large attachment seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10] as const

interface Series {
  readonly byStatus: Map<number, number>
  /** Observations by the first bound that holds them; the last place is for those above all. */
  readonly buckets: number[]
  seconds: number
}

const PROCESS: readonly Figure[] = [
  {
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time.',
    type: 'counter',
    read: () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    },
  },
  { name: 'process_resident_memory_bytes', help: 'Resident memory.', type: 'gauge', read: () => process.memoryUsage.rss() },
  {
    name: 'process_start_time_seconds',
    help: 'When the process started, seconds since the epoch.',
    type: 'gauge',
    read: () => Math.round(Date.now() / 1000 - process.uptime()),
  },
]

export function createMetrics(): Metrics {
  const routes = new Map<string, Series>()
  const figures: Figure[] = [...PROCESS]
  return {
    observe(route, status, seconds) {
      const series = routes.get(route) ?? begin(routes, route)
      series.byStatus.set(status, (series.byStatus.get(status) ?? 0) + 1)
      const bucket = BUCKETS.findIndex((bound) => seconds <= bound)
      const place = bucket < 0 ? BUCKETS.length : bucket
      series.buckets[place] = (series.buckets[place] ?? 0) + 1
      series.seconds += seconds
    },
    add: (figure) => void figures.push(figure),
    render: () => `${[...renderRequests(routes), ...renderDurations(routes), ...figures.flatMap(renderFigure)].join('\n')}\n`,
  }
}

function begin(routes: Map<string, Series>, route: string): Series {
  const series: Series = { byStatus: new Map(), buckets: Array.from({ length: BUCKETS.length + 1 }, () => 0), seconds: 0 }
  routes.set(route, series)
  return series
}

function renderRequests(routes: ReadonlyMap<string, Series>): string[] {
  const name = 'mailstead_http_requests_total'
  const lines = [...routes].flatMap(([route, { byStatus }]) =>
    [...byStatus].map(([status, n]) => `${name}{route="${route}",status="${status}"} ${n}`),
  )
  return [`# HELP ${name} Requests answered, by route and status.`, `# TYPE ${name} counter`, ...lines]
}

function renderDurations(routes: ReadonlyMap<string, Series>): string[] {
  const name = 'mailstead_http_request_duration_seconds'
  const lines = [`# HELP ${name} From the request's first line to the answer.`, `# TYPE ${name} histogram`]
  for (const [route, { buckets, seconds }] of routes) {
    let sum = 0
    for (const [i, n] of buckets.entries()) {
      sum += n
      lines.push(`${name}_bucket{route="${route}",le="${BUCKETS[i] ?? '+Inf'}"} ${sum}`)
    }
    lines.push(`${name}_sum{route="${route}"} ${seconds}`, `${name}_count{route="${route}"} ${sum}`)
  }
  return lines
}

function renderFigure({ name, help, type, read }: Figure): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name} ${read()}`]
}
