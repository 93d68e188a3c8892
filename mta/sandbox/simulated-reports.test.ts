import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { parseReport } from '#mta/classify/report.ts'
import { openLog } from '#src/platform/log.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { createSimulatedReportSender, type SimulatedReport, type SimulatedReportSender } from './simulated-reports.ts'

describe('simulated reports', () => {
  let inbound: Receiver
  let sender: SimulatedReportSender
  const base: SimulatedReport = {
    type: 'bounce',
    status: '5.2.2',
    text: '552 5.2.2 The mailbox is full',
    recipient: 'ann@b.example',
    returnPath: 'b-x@bounces.example',
  }
  beforeEach(async () => {
    inbound = await startReceiver()
    sender = createSimulatedReportSender({
      config: loadConfig({ INBOUND_PORT: String(inbound.port) }),
      log: openLog({ logLevel: 'silent' }, 'test'),
    })
  })
  afterEach(async () => {
    await sender.stop()
    await inbound.stop()
  })

  const ROWS: readonly (readonly [type: SimulatedReport['type'], kind: string, className: string | null])[] = [
    ['bounce', 'bounce', 'mailbox-full'],
    ['complaint', 'complaint', 'abuse'],
    ['opt-out', 'complaint', 'opt-out'],
  ]
  for (const [type, kind, className] of ROWS) {
    it(`a ${type} goes to the return-path with a null sender and parses as one`, async () => {
      sender.send({ ...base, type })
      const [mail] = await inbound.until(1)
      assert.deepEqual([mail?.from, mail?.to], ['', ['b-x@bounces.example']])
      const report = parseReport(mail?.bytes ?? Buffer.alloc(0))
      assert.deepEqual(
        [report.kind, report.recipients.map(({ address, class: name }) => [address, name])],
        [kind, [['ann@b.example', className]]],
      )
    })
  }
})
