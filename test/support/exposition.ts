/**
 * Parses Prometheus text format 0.0.4 as strictly as promtool: every family has one help and one type line, samples
 * follow their own family, labels are well-formed, no series occurs twice, counters are not negative, and histograms
 * are cumulative with +Inf equal to the count.
 */
import { assert } from 'chai'

export interface MetricSample {
  /** With the ending of a histogram's parts. */
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"/y
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (\\S+)$`, 's')

/** Samples by family. @throws AssertionError that names the line. */
export function checkExposition(text: string): Map<string, MetricSample[]> {
  assert.ok(text.endsWith('\n'), 'ends with a line feed')
  const families = new Map<string, MetricSample[]>()
  const seen = new Set<string>()
  let [family, type] = ['', '']
  for (const line of text.split('\n').slice(0, -1)) {
    const head = new RegExp(`^# (HELP|TYPE) (${NAME}) (.+)$`).exec(line)
    if (head?.[1] === 'HELP') {
      family = head[2] ?? ''
      assert.ok(!families.has(family), `${line}: a second time`)
      families.set(family, [])
    } else if (head?.[1] === 'TYPE') {
      assert.strictEqual(head[2], family, line)
      type = head[3] ?? ''
      assert.match(type, /^(counter|gauge|histogram)$/, line)
    } else if (line !== '') {
      const sample = readSample(line)
      const allowed = type === 'histogram' ? [`${family}_bucket`, `${family}_sum`, `${family}_count`] : [family]
      assert.ok(allowed.includes(sample.name), `${line}: not of ${family}`)
      assert.ok(type === 'gauge' || sample.value >= 0, line)
      const series =
        sample.name + JSON.stringify(Object.entries(sample.labels).toSorted(([a], [b]) => a.localeCompare(b)))
      assert.ok(!seen.has(series), `${line}: twice`)
      seen.add(series)
      families.get(family)?.push(sample)
    }
  }
  for (const [name, samples] of families) {
    assert.ok(samples.length > 0, `${name} has no series`)
    checkHistogram(name, samples)
  }
  return families
}

function readSample(line: string): MetricSample {
  const [, name, inside, value] = SAMPLE.exec(line) ?? assert.fail(`${line}: no sample`)
  assert.ok(name !== undefined && value !== undefined)
  const number = value === '+Inf' ? Infinity : Number(value)
  assert.ok(!Number.isNaN(number), line)
  const labels: Record<string, string> = {}
  for (LABEL.lastIndex = 0; inside !== undefined && LABEL.lastIndex < inside.length;) {
    const [, label, text] = LABEL.exec(inside) ?? assert.fail(`${line}: bad labels`)
    labels[label ?? ''] = text ?? ''
    if (LABEL.lastIndex < inside.length) assert.strictEqual(inside[LABEL.lastIndex++], ',', line)
  }
  return { name, labels, value: number }
}

function checkHistogram(name: string, samples: readonly MetricSample[]): void {
  const counts = samples.filter((sample) => sample.name === `${name}_count`)
  for (const { labels, value } of counts) {
    const isSame = (other: MetricSample): boolean =>
      Object.entries(labels).every(([label, text]) => other.labels[label] === text)
    const buckets = samples.filter((sample) => sample.name === `${name}_bucket` && isSame(sample))
    const bounds = buckets.map((bucket) => (bucket.labels['le'] === '+Inf' ? Infinity : Number(bucket.labels['le'])))
    assert.deepEqual(
      bounds,
      bounds.toSorted((a, b) => a - b),
      `${name}: bounds rise`,
    )
    assert.deepEqual(
      buckets.map((bucket) => bucket.value),
      buckets.map((bucket) => bucket.value).toSorted((a, b) => a - b),
      `${name}: cumulative`,
    )
    assert.deepEqual([bounds.at(-1), buckets.at(-1)?.value], [Infinity, value], `${name}: +Inf is the count`)
    assert.strictEqual(samples.filter((sample) => sample.name === `${name}_sum` && isSame(sample)).length, 1)
  }
}
