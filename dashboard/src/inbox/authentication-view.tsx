/** DKIM, SPF and DMARC of a captured mail: what was verified, and what it means where the mail goes. */
import { CircleCheck, CircleX, Info } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import type { CapturedEmail } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { judge, type DkimVerdict } from './verdicts.ts'

export function AuthenticationView({ mail }: { readonly mail: CapturedEmail }): ReactNode {
  const { inbox } = useTexts()
  const { dkim, isDmarcPass, fromDomain, spfDomain } = judge(mail)
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <Verdict
        name="DMARC"
        state={isDmarcPass ? 'pass' : 'fail'}
        text={isDmarcPass ? inbox.dmarcPassText(fromDomain ?? '') : inbox.dmarcFailText(fromDomain ?? '–')}
      />
      {dkim.length === 0 && <Verdict name="DKIM" state="fail" text={inbox.noSignature} />}
      {dkim.map((signature) => (
        <Signature key={`${signature.domain} ${signature.selector}`} signature={signature} />
      ))}
      <Verdict name="SPF" state="unknown" text={inbox.spfText(spfDomain ?? '–')} />
      <Verdict name="TLS" state={mail.tls === null ? 'fail' : 'pass'} text={mail.tls ?? inbox.noTlsText} />
    </div>
  )
}

const ICONS = { pass: CircleCheck, fail: CircleX, unknown: Info }
const COLOURS = { pass: 'text-success', fail: 'text-danger', unknown: 'text-info' }

interface VerdictProps {
  readonly name: string
  readonly state: keyof typeof ICONS
  readonly text: ReactNode
}

function Verdict({ name, state, text }: VerdictProps): ReactNode {
  const { inbox } = useTexts()
  const Icon = ICONS[state]
  return (
    <section className="flex min-w-0 items-start gap-3 rounded-lg border border-line p-3" aria-label={name}>
      <Icon size={16} aria-hidden="true" className={`mt-0.5 shrink-0 ${COLOURS[state]}`} />
      <div className="min-w-0">
        <p className="font-medium text-ink">
          {name}: {inbox.results[state]}
        </p>
        <div className="mt-0.5 text-sm break-words text-muted">{text}</div>
      </div>
    </section>
  )
}

function Signature({ signature }: { readonly signature: DkimVerdict }): ReactNode {
  const { inbox } = useTexts()
  const { domain, selector, algorithm, isPass, isAligned, result, comment } = signature
  return (
    <Verdict
      name="DKIM"
      state={isPass ? 'pass' : 'fail'}
      text={
        <>
          <span className="flex flex-wrap gap-1.5">
            <Badge>d={domain}</Badge>
            <Badge>s={selector}</Badge>
            <Badge>a={algorithm}</Badge>
            <Badge tone={isAligned ? 'success' : 'warning'}>{isAligned ? inbox.aligned : inbox.notAligned}</Badge>
          </span>
          {!isPass && <span className="mt-1 block">{[result, comment].filter((one) => one !== null).join(': ')}</span>}
        </>
      }
    />
  )
}
