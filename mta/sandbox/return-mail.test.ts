import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { readReport } from '#mta/classify/report.ts'
import { openLog } from '#src/platform/log.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { createReturnMail, type Returned, type ReturnMail } from './return-mail.ts'

describe('what the sandbox sends back', () => {
  let inbound: Receiver
  let returns: ReturnMail
  const base: Returned = {
    what: 'bounce',
    status: '5.2.2',
    text: '552 5.2.2 The mailbox is full',
    recipient: 'ann@b.example',
    returnPath: 'b-x@bounces.example',
  }
  beforeEach(async () => {
    inbound = await startReceiver()
    returns = createReturnMail({
      config: loadConfig({ INBOUND_PORT: String(inbound.port) }),
      log: openLog({ logLevel: 'silent' }, 'test'),
    })
  })
  afterEach(async () => {
    await returns.stop()
    await inbound.stop()
  })

  const ROWS: readonly (readonly [what: Returned['what'], kind: string, told: string | null])[] = [
    ['bounce', 'bounce', 'mailbox-full'],
    ['complaint', 'complaint', 'abuse'],
    ['opt-out', 'complaint', 'opt-out'],
  ]
  for (const [what, kind, told] of ROWS) {
    it(`a ${what}: from nobody, to the return-path, and read as what it is`, async () => {
      returns.send({ ...base, what })
      const [mail] = await inbound.until(1)
      assert.deepEqual([mail?.from, mail?.to], ['', ['b-x@bounces.example']])
      const report = readReport(mail?.bytes ?? Buffer.alloc(0))
      assert.deepEqual(
        [report.kind, report.recipients.map(({ address, class: name }) => [address, name])],
        [kind, [['ann@b.example', told]]],
      )
    })
  }
})
