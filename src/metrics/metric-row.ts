/** The shape of a row of the catalogue of metrics. */
export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** The name before version 0.2. It is still reported, so that existing dashboards and alerts work. */
  readonly formerly?: string
  /** Upper bounds of a histogram, ascending. */
  readonly buckets?: readonly number[]
  /** Of a gauge: the value of several processes of one role on one node; without it the sum. */
  readonly combine?: 'sum' | 'max' | 'min' | 'furthest'
  /** How many values of the first label the totals of a role and node have. */
  readonly maxNames?: number
  /** Not every installation has it, such as one without sources. */
  readonly isOptional?: true
  /**
   * The processes that report it. `mta`: outbound and inbound; `senders`: api, submission and outbound; `queue`: one
   * worker for the whole installation.
   */
  readonly by: 'all' | 'api' | 'outbound' | 'inbound' | 'submission' | 'worker' | 'mta' | 'senders' | 'queue'
}
