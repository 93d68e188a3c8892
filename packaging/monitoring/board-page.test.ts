/** The drawing of the board: values in their units, series with gaps, and names that are not HTML. */
import { assert } from 'chai'
import { PANELS, type Panel } from './board.ts'
import { drawBoard, formatValue } from './board-page.ts'

describe('the page of the board', () => {
  const VALUES: readonly (readonly [value: number, unit: string, text: string])[] = [
    [0, 's', '0 s'],
    [0.0123, 's', '12.3 ms'],
    [90, 's', '90 s'],
    [600, 's', '10 min'],
    [59.9 * 86_400, 's', '59.9 d'],
    [0.0425, 'percentunit', '4.25 %'],
    [1536, 'bytes', '1.5 KiB'],
    [104_857_600, 'bytes', '100 MiB'],
    [12_345, 'none', '12.3 k'],
    [0.5, 'cps', '0.5/s'],
    [NaN, 's', '–'],
  ]
  for (const [value, unit, text] of VALUES)
    it(`${value} ${unit} is ${text}`, () => assert.strictEqual(formatValue(value, unit), text))

  const period = { from: 0, to: 60 }
  const panel = PANELS.find(({ type }) => type === 'timeseries') as Panel

  it('draws every panel, also without data', () => {
    const { html, height } = drawBoard(
      PANELS.map((one) => ({ panel: one, series: [] })),
      period,
    )
    for (const { title } of PANELS) assert.include(html, `>${title}</`)
    assert.isAbove(height, 0)
    assert.notInclude(html, 'NaN')
  })
  it('leaves a gap where there is no value', () => {
    const points: [number, number][] = [
      [0, 1],
      [20, NaN],
      [40, 2],
      [60, 3],
    ]
    const { html } = drawBoard([{ panel, series: [{ name: 'one', points }] }], period)
    assert.match(html, /<path d="M[\d.]+ [\d.]+M[\d.]+ [\d.]+L[\d.]+ [\d.]+"/)
  })
  it('escapes names of series', () => {
    const { html } = drawBoard([{ panel, series: [{ name: '<script>', points: [[0, 1]] }] }], period)
    assert.include(html, '&lt;script&gt;')
    assert.notInclude(html, '<script>')
  })
})
