import { assert } from 'chai'
import { dsnOf, outOfOfficeOf } from '#test/support/reports.ts'
import { createReportParser, type ReportParser } from './report-parser.ts'

describe('the reader of reports', () => {
  const readers: ReportParser[] = []
  const open = (longestMs?: number, file?: URL): ReportParser => {
    const reader = createReportParser({
      ...(longestMs !== undefined && { timeoutMs: longestMs }),
      ...(file !== undefined && { file }),
    })
    readers.push(reader)
    return reader
  }
  after(() => Promise.all(readers.map((reader) => reader.stop())))

  const good = Buffer.from(dsnOf({ recipient: 'ann@b.example' }))
  /** A thread that hangs on "hang", eats all memory on "eat" and says nothing of worth of the rest. */
  const strange = new URL(
    `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads'
    parentPort.postMessage({ reports: [] })
    parentPort.on('message', ({ mails }) => {
      for (const mail of mails) {
        const text = Buffer.from(mail).toString()
        if (text === 'hang') for (;;) {}
        if (text === 'throw') { setImmediate(() => { throw new Error('astray') }); return }
        if (text === 'eat') for (const list = [];;) list.push(Array.from({ length: 1e5 }, Math.random))
        const report = { kind: 'other', recipients: [], feedbackType: null, originalMessageId: text }
        parentPort.postMessage({ reports: [report] })
      }
    })`)}`,
  )

  it('reads each, in order, batch after batch', async () => {
    const reader = open()
    assert.deepEqual(
      (await reader.parse([good, Buffer.from(outOfOfficeOf()), good])).map((report) => report?.kind),
      ['bounce', 'autoreply', 'bounce'],
    )
    assert.deepEqual(
      (await reader.parse([good])).map((report) => report?.kind),
      ['bounce'],
    )
    assert.deepEqual(await reader.parse([]), [])
  })
  for (const bad of ['hang', 'eat', 'throw']) {
    it(`one that makes it ${bad} is told as unreadable, the others are read`, async () => {
      const reports = await open(500, strange).parse(['a', bad, 'b', bad].map((text) => Buffer.from(text)))
      assert.deepEqual(
        reports.map((report) => report?.originalMessageId ?? null),
        ['a', null, 'b', null],
      )
    })
  }
  it('a thread that cannot be started is our fault: nothing is told as unreadable', async () => {
    const broken = new URL(`data:text/javascript,${encodeURIComponent(`throw new Error('broken')`)}`)
    await assert.isRejected(open(500, broken).parse([good]), /broken/)
  })
})
