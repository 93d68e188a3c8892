import { assert } from 'chai'
import { dsnOf, outOfOfficeOf } from '#test/support/reports.ts'
import { createReportParser, type ReportParser } from './report-parser.ts'

describe('report parser thread', () => {
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
  /** A thread that hangs on "hang", exhausts memory on "eat", crashes on "throw" and echoes the rest. */
  const faulty = new URL(
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

  it('parses all mails of a batch in order, and several batches', async () => {
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
    it(`a mail on which the thread does "${bad}" is unreadable, the others are parsed`, async () => {
      const reports = await open(500, faulty).parse(['a', bad, 'b', bad].map((text) => Buffer.from(text)))
      assert.deepEqual(
        reports.map((report) => report?.originalMessageId ?? null),
        ['a', null, 'b', null],
      )
    })
  }
  it('rejects if the thread cannot start, and marks no mail as unreadable', async () => {
    const broken = new URL(`data:text/javascript,${encodeURIComponent(`throw new Error('broken')`)}`)
    await assert.isRejected(open(500, broken).parse([good]), /broken/)
  })
})
