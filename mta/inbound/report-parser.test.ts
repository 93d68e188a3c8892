import { assert } from 'chai'
import { dsnOf, outOfOfficeOf } from '#test/support/reports.ts'
import { createReportParser } from './report-parser.ts'

describe('report parser', () => {
  const parser = createReportParser()
  after(() => parser.stop())

  it('parses all mails of a batch in its thread, in order', async () => {
    const bounce = Buffer.from(dsnOf({ recipient: 'ann@b.example' }))
    assert.deepEqual(
      (await parser.parse([bounce, Buffer.from(outOfOfficeOf()), bounce])).map((report) => report?.kind),
      ['bounce', 'autoreply', 'bounce'],
    )
  })
})
