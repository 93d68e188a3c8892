/**
 * `mailstead parse-report`: a raw mail on stdin, what it reports on stdout, always as JSON: kind, recipients with status and class, and the
 * Message-ID of the mail it is about. Needs no database and no settings.
 */
import { buffer } from 'node:stream/consumers'
import { type Action, type Io, runAction } from '#bin/cli/actions.ts'
import { parseReport } from '#mta/classify/report.ts'

const ACTION: Action = {
  usage: '< mail.eml',
  run: async (call) => {
    const { kind, recipients, feedbackType, originalMessageId } = parseReport(await buffer(process.stdin))
    call.io.out(
      `${JSON.stringify(
        {
          kind,
          recipients,
          ...(feedbackType === null ? {} : { feedback_type: feedbackType }),
          ...(originalMessageId === null ? {} : { original_message_id: originalMessageId }),
        },
        null,
        2,
      )}\n`,
    )
    return 0
  },
}

export function run(args: string[], io?: Io): Promise<number> {
  return runAction('parse-report', ACTION, args, io)
}
