import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from 'chai'
import { pino } from 'pino'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import { attemptOf, claimedOf, silentContext } from '#test/support/delivery.ts'
import { parseJournal } from './journal-format.ts'
import { resultOf } from './result-handler.ts'
import { openResultJournal, type ResultJournal } from './result-journal.ts'
import type { DeliveryResult } from './result-writer.ts'

const MEGABYTE = 1024 * 1024

describe('the result journal', () => {
  let folder: string
  let journal: ResultJournal
  let isDiskFull = false
  const errors: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => void errors.push(line) })

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mailstead-journal-'))
    errors.length = 0
    isDiskFull = false
    journal = openResultJournal({ log }, folder, (file, bytes) => {
      if (!isDiskFull) return writeSync(file, bytes)
      // as much as fits, then nothing
      return writeSync(file, bytes.subarray(0, Math.min(40, bytes.length)))
    })
  })
  afterEach(() => {
    journal.close()
    rmSync(folder, { recursive: true })
  })

  function accepted(fields: Partial<ClaimedRecipient> = {}, conversation = 'S: 250 Ok'): DeliveryResult {
    const claimed = claimedOf()
    return resultOf(silentContext(), { ...claimed, ...fields }, attemptOf(undefined, { conversation }))
  }
  const path = (): string => join(folder, journal.name ?? '')
  const read = (): ReturnType<typeof parseJournal> => parseJournal(readFileSync(path()))
  const idsIn = (): string[] => read().results.map(({ claimed }) => claimed.messageId)
  const idsOf = (results: readonly DeliveryResult[]): string[] => results.map(({ claimed }) => claimed.messageId)

  it('has a result as soon as it is recorded, for the owner of the folder only', () => {
    const results = [accepted(), accepted()]
    for (const result of results) journal.record(result)
    assert.deepEqual(idsIn(), idsOf(results))
    assert.strictEqual(statSync(path()).mode & 0o777, 0o600)
  })
  it('is removed when it is closed and everything is committed', () => {
    const result = accepted()
    journal.record(result)
    journal.settle(result)
    journal.close()
    assert.deepEqual(readdirSync(folder), [])
  })
  it('stays for the next process when a result was not committed', () => {
    const [one, other] = [accepted(), accepted()]
    for (const result of [one, other]) journal.record(result)
    journal.settle(one)
    assert.strictEqual(journal.unsettled, 1)
    journal.close()
    assert.ok(idsIn().includes(other.claimed.messageId))
  })
  it('does not grow with the number of messages, and loses none that is not committed', () => {
    const kept = accepted()
    journal.record(kept)
    for (let i = 0; i < 1000; i++) {
      const result = accepted({}, 'x'.repeat(8000))
      journal.record(result)
      journal.settle(result)
    }
    assert.ok(statSync(path()).size < 1.1 * MEGABYTE)
    assert.strictEqual(idsIn()[0], kept.claimed.messageId)
    assert.deepEqual(readdirSync(folder), [journal.name])
  })
  it('grows as far as the results need it that are not committed', () => {
    const results = Array.from({ length: 400 }, () => accepted({}, 'x'.repeat(8000)))
    for (const result of results) journal.record(result)
    assert.ok(statSync(path()).size > 3 * MEGABYTE)
    assert.deepEqual(idsIn(), idsOf(results))
  })
  it('on a full disk logs one error, and writes what is missing when there is space again', () => {
    const results = Array.from({ length: 5 }, () => accepted())
    const [first, second, ...others] = results
    assert.ok(first !== undefined && second !== undefined)
    journal.record(first)
    isDiskFull = true
    journal.record(second)
    for (const result of others) journal.record(result)
    assert.deepEqual([journal.isFailing, errors.length], [true, 1])
    assert.match(errors[0] ?? '', /the disk is full.*mail is delivered/)
    assert.deepEqual(idsIn(), [first.claimed.messageId])
    isDiskFull = false
    journal.renew()
    assert.deepEqual([journal.isFailing, idsIn()], [false, idsOf(results)])
  })
  it('that cannot be created leaves the process without a journal, and logs that', () => {
    writeFileSync(join(folder, 'file'), '')
    const none = openResultJournal({ log }, join(folder, 'file', 'journal'))
    none.record(accepted())
    assert.deepEqual([none.name, none.unsettled], [null, 0])
    assert.match(errors[0] ?? '', /a crash may send accepted mail again/)
  })
  it('is written again after another process removed it', () => {
    const result = accepted()
    journal.record(result)
    rmSync(path())
    journal.renew()
    assert.deepEqual(idsIn(), idsOf([result]))
  })
  it('belongs to one process: a second one has its own', () => {
    const second = openResultJournal({ log }, folder)
    second.record(accepted())
    assert.deepEqual(read().results, [])
    assert.strictEqual(readdirSync(folder).length, 2)
  })
})
