import { assert } from 'chai'
import { createParserThread, type ParserThread } from './parser-thread.ts'

/** Returns texts in capitals; hangs on "hang", exhausts memory on "eat" and crashes on "throw". */
const FAULTY = new URL(
  `data:text/javascript,${encodeURIComponent(`
  import { parentPort } from 'node:worker_threads'
  parentPort.postMessage({ results: [] })
  parentPort.on('message', ({ inputs }) => {
    for (const input of inputs) {
      if (input === 'hang') for (;;) {}
      if (input === 'throw') { setImmediate(() => { throw new Error('astray') }); return }
      if (input === 'eat') for (const list = [];;) list.push(Array.from({ length: 1e5 }, Math.random))
      parentPort.postMessage({ results: [input.toUpperCase()] })
    }
  })`)}`,
)

describe('parser thread', () => {
  const threads: ParserThread<string, string>[] = []
  const open = (file: URL): ParserThread<string, string> => {
    const thread = createParserThread<string, string>({ file, timeoutMs: 500 })
    threads.push(thread)
    return thread
  }
  after(() => Promise.all(threads.map((thread) => thread.stop())))

  it('parses all inputs of a batch in order, and several batches', async () => {
    const thread = open(FAULTY)
    assert.deepEqual(await thread.parse(['a', 'b', 'c']), ['A', 'B', 'C'])
    assert.deepEqual(await thread.parse(['d']), ['D'])
    assert.deepEqual(await thread.parse([]), [])
  })
  for (const bad of ['hang', 'eat', 'throw']) {
    it(`an input on which the thread does "${bad}" is unreadable, the others are parsed`, async () => {
      assert.deepEqual(await open(FAULTY).parse(['a', bad, 'b', bad]), ['A', null, 'B', null])
    })
  }
  it('rejects if the thread cannot start, and marks no input as unreadable', async () => {
    const broken = new URL(`data:text/javascript,${encodeURIComponent(`throw new Error('broken')`)}`)
    await assert.isRejected(open(broken).parse(['a']), /broken/)
  })
})
