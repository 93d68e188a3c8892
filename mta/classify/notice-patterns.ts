/**
 * Patterns that tell a server's delivery notice from a person's mail: sender, subject and first words, in English and
 * in the languages of failure-patterns-localised.ts. Used by notice-kind.ts.
 */
import { anyOf, group } from './text-patterns.ts'

export const MAILER_DAEMON = anyOf(
  'mailer-?daemon|post_?master|mail[ ._-]?(?:delivery|administrator|system|server|service|gateway|router)',
  'mail ?scanner',
  String.raw`system administrator|mdaemon|internet mail (?:delivery|service)|\bmailer\b`,
  'delivery[ ._-]?(?:system|service|subsystem|agent)',
  String.raw`(?:smtp|mail)[ ._-]?(?:\w+[ ._-]?)?gateway|smtp[ ._-]?(?:mail|server|service)|anti-?virus|interscan`,
  String.raw`\bimss@|mailsweeper|mailmarshal|scanmail|\bmta\d*@|microsoft ?exchange|mail-?monitor|groupwise`,
)

export const FAILURE_SUBJECT = anyOf(
  'undeliver|fail(?:ure|ed)|return(?:ed|ing)|delivery (?:status )?(?:notification|report|problem|error)',
  String.raw`non[- ]?(?:remis|deliver|distribu)|not deliver|could ?n[o']t (?:be )?(?:\w+ )?(?:deliver|sen[dt])`,
  'could not send|bounce',
  'mail (?:system )?error|rejected|mail server error|error sending|problem deliver|unable to (?:deliver|send)',
  '(?:processing|sending) error',
  'delivery incomplete|message status|warning: (?:message|could not)',
  '(?:user|address|recipient|host) (?:unknown|not found)',
  String.raw`unzustellbar|nicht zugestellt|nicht zustellbar|zustell\w*fehl|fehlgeschlagen|[ée]chec|retour [àa] l`,
  'non (?:d[ée]livr|recens)',
  String.raw`no (?:se )?(?:ha )?(?:pud|pued)\w+ (?:ser )?entreg|no entreg|devuelto|devolvid[oa]`,
  'n[ãa]o (?:foi )?entreg|falha|mancat[ao] (?:consegna|recapito)',
  'impossibile (?:recapitare|consegnare|inviare)|onbestelbaar|niet afgeleverd|niet bezorgd|kunde inte levereras',
  'kunne ikke leveres',
  'niedostarczon|nie dostarczon|nedoru[čc]en|не (?:был[оа]? )?доставлен|недоставлен|возвра[щт]|teslim edilemedi',
  'kan (?:inte|ikke) leveres?ras?|kunne ikke levere|toimitus ep[äa]onnistui|k[ée]zbes[íi]thetetlen|nelivrat',
  'n[ãa]o [ée] poss[íi]vel entregar|mancata consegna|не (?:може бути )?доставлено|αδύνατη η παράδοση',
  '配信(?:できません|不能|エラー|失敗)|送信(?:できません|エラー|失敗)|配送(?:できません|エラー|失敗)|不達|戻り|エラー通知',
  '退信|退回|(?:失败|失敗)|无法(?:投递|送达|发送)|無法(?:投遞|送達|傳遞)|未送达|未送達|반송|배달 ?(?:실패|불가)|전송 ?실패',
)

export const FAILURE_TEXT = anyOf(
  String.raw`(?:could not|couldn't|cannot|can't|wasn't able to|was not able to|unable to|not) (?:be )?(?:\w+ )?` +
    '(?:deliver|sen[dt]|reach|relay)',
  "(?:was|were|is|has|have)(?: not|n't)(?: been)? (?:deliver|sen[dt]|reach|accepted)",
  String.raw`deliver(?:y|ed|ing)?\b[^.\n]{0,80}\b(?:fail|error|unsuccess|problem|impossible|not possible)`,
  'permanent (?:fatal )?(?:error|failure)|fatal errors',
  String.raw`(?:following|these|failed|affected) (?:recipient|address|user)s?\b|undeliver`,
  'did not (?:reach|receive)|returned (?:message|mail)|failure reasons|transcript of session',
  'message (?:was )?rejected',
  'mailbox (?:is |was )?(?:full|unavailable|not found)|error message below|recipients? (?:returned|were affected)',
  'may not exist',
  'no such (?:user|recipient|mailbox|address)|(?:user|recipient|address) (?:is |was )?(?:unknown|not found)',
  'unknown (?:user|recipient)',
  String.raw`(?:has been|was|is being|been) (?:returned|bounced|rejected)\b|invalid final delivery|delivery failed`,
  String.raw`over (?:\w+ )?quota|quota (?:exceeded|violation)`,
  'nicht (?:zugestellt|ausgeliefert|[üu]e?bermittelt|zustellen)|unzustellbar|pas pu [êe]tre',
  "n'a pas [ée]t[ée] (?:d[ée]livr|remis|distribu)",
  String.raw`no (?:se )?(?:ha )?(?:pud|pued)\w+ (?:ser )?(?:entreg|envi)`,
  'n[ãa]o (?:p[ôo]de|foi|pode) (?:ser )?(?:entreg|envi)|impossibile (?:recap|conseg)',
  'non [èe] stat[oa] (?:recapitat|consegnat)|niet (?:afgeleverd|bezorgd|worden)|inte levereras|ikke leveres',
  String.raw`nie (?:zosta[łl]\w* )?dostarcz`,
  'delivery of the (?:e-?mail|message) was stopped',
  'falha na entrega|(?:gick|kunde) inte (?:att )?levereras?|gik ikke at levere|kunne ikke leveres? til',
  String.raw`dostarczenie \S[^.\n]{0,80} nie powiod|teslim edileme|toimitus [^.\n]{0,60}ep[äa]onnistui`,
  String.raw`k[ée]zbes[íi]t\w*[^.\n]{0,60} (?:sikertelen|nem siker[üu]lt)`,
  '(?:не может быть|не (?:был[оа]? )?|невозможно )доставл?|配信(?:でき|され)ま|送信でき|配送でき|お届けでき|届けることができ',
  '无法(?:投递|送达|发送|送到)|無法(?:投遞|送達|傳遞|傳送)|投递失败|发送失败|未能送达|退回|전송하지 못|배달되지',
)

export const DELAY_SUBJECT = anyOf(
  String.raw`\bdelay(?:ed)?\b|\bwarning\b|still being retried|verz[öo]e?ger|warnung|retard|p[ée]ndiente|retras|atras`,
  'attesa|ritard|vertraag|f[öo]rdr[öo]j|forsink|op[óo][źz]n|zpo[žz]d|задерж|затримк|gecik|遅延|遅れ|延迟|延遲|지연',
)

export const DELAY_TEXT = anyOf(
  String.raw`(?:has|have|had|is|was) (?:not yet been|been|being)? ?(?:delivered|delayed|postponed)[^.\n]{0,60}`,
  'not yet (?:been )?delivered|will (?:be|continue to be|keep) (?:re)?tr(?:ied|y)|warning (?:message )?only',
  'temporary (?:failure|delay) report|still (?:being retried|trying)',
  '(?:will )?continue (?:to (?:try|attempt)|trying|delivery attempts)',
  String.raw`noch nicht (?:zugestellt|ausgeliefert)|zustellung [^.\n]{0,80}verz[öo]e?ger`,
  '(?:weiterhin|weiter) versucht|zustellversuche|pas encore (?:[ée]t[ée] )?(?:remis|d[ée]livr|distribu)',
  String.raw`remise [^.\n]{0,80}retard[ée]e|continuera [àa] (?:essayer|tenter)`,
  'a[úu]n no (?:se ha |ha sido )?(?:entreg|enviad)|(?:se )?seguir[áa] intentando|ainda n[ãa]o foi entregue',
  'continuar[áa] tentando|non [èe] (?:stato )?ancora (?:stat[oa] )?(?:recapit|consegn)|ancora in attesa',
  'nog niet (?:afgeleverd|bezorgd)|vertraagd',
  String.raw`[äa]nnu inte levererats|endnu ikke (?:blevet )?leveret|jeszcze nie (?:zosta[łl]\w* )?dostarcz`,
  String.raw`ещ[её] не (?:был[оа]? )?доставлен|(?:попытки|попытк\S+) доставки будут|hen[üu]z teslim edilmedi`,
  '配信が遅れ|引き続き(?:試行|配信)|再送(?:を試み|し続け)|尚未(?:送达|送達|投递|投遞)|(?:继续|繼續|重新)(?:尝试|嘗試)|지연되|계속 시도',
  String.raw`do not need to re-?send|deliver\w* attempts will continue|will be (?:re)?attempted`,
  'will (?:re-?)?try (?:again|to deliver)',
)

export const CERTAIN_DELAY_TEXT = anyOf(
  'warning (?:message )?only|not yet (?:been )?delivered|temporary (?:failure|delay) report|just a warning',
  'advisory[- ]only',
  String.raw`deliver\w* attempts will continue|will continue to (?:try|attempt)`,
)

export const PERMANENT_FAILURE_TEXT = anyOf(
  String.raw`permanent(?:ly)?\b|given up|giving up|will not be re-?tri|failed permanently|fatal`,
)

export const AUTO_REPLY_SUBJECT = anyOf(
  String.raw`^\s*(?:(?:re|aw|fwd?|sv|vs|odp|antw|tr|rv|res)\s*:\s*)*` +
    group(
      String.raw`auto\s*:`,
      String.raw`\[?auto(?:matic|mated|matisch\w*|matyczn\w*)?[- ]?` +
        '(?:reply|response|responder|answer|antwort|respond|generated|antwoord|svar|odpowied[źz])',
      String.raw`out[- ]of[- ](?:the[- ])?office|away\b|(?:i am|i'm) (?:\w+ )?(?:away|out|on)|vacation`,
      'on (?:holiday|annual |leave|vacation)|abwesen|urlaub|r[ée]ponse automatique|absen(?:ce|t)|risposta automatica',
      'assenza|fuori (?:sede|ufficio)|respuesta autom|resposta autom|fuera de (?:la )?oficina|fora do escrit',
      'ausencia|aus[êe]ncia|autosvar|fr[åa]nvaro|afwezig|poissaolo|nieobecno|автоответ|автоматический ответ|自動応答',
      '自動返信|不在|休暇|自动(?:回复|答复)|自動回覆|自動回復|부재|자동 ?(?:응답|회신)|otomatik yan[ıi]t|automaattinen',
      'automatisk(?:t)? (?:svar|besked)|automatick[áa] odpov[ěe][ďd]|automatikus v[áa]lasz|r[ăa]spuns automat',
      'automatyczna odpowied[źz]|odpowied[źz] automatyczna|automatski odgovor|samodejni odgovor|αυτόματη απάντηση',
      'автоматична (?:відповідь|одговор)|автоматичен отговор|balasan otomatis|tr[ảa] l[ờo]i t[ựu] [đd][ộo]ng',
      'ตอบกลับอัตโนมัติ|תשובה אוטומטית|מענה אוטומטי|رد تلقائي|الرد التلقائي',
    ),
)

/** Out-of-office text, in a mail whose Precedence marks it as automatic. */
export const OUT_OF_OFFICE_TEXT = anyOf(
  String.raw`\b(?:i am|i'm|i will be|i'll be|will be|am|is) (?:currently |presently |now )?` +
    String.raw`(?:out of (?:the |my )?office|away|abroad|on (?:\w+ )?(?:vacation|holidays?|leave))`,
  'out of (?:the )?office|automat(?:ed|ic) (?:reply|response|acknowledg)|vacation (?:message|reply)',
  '(?:im|in) urlaub|nicht (?:im (?:haus|b[üu]e?ro)|erreichbar)|au[ßs]s?er haus',
  'en (?:cong[ée]|vacances|d[ée]placement)|sono (?:assente|in ferie)',
  '(?:estoy|estar[ée]) (?:fuera|de vacaciones|ausente)|(?:estou|estarei) (?:fora|ausente|de f[ée]rias)|в отпуске|出張',
  '休暇|不在',
)

export const CHALLENGE_RESPONSE = anyOf(
  '(?:confirm|verify) (?:your|that you|this) (?:message|e-?mail|identity|address|are)',
  String.raw`\bchallenge[- ]response`,
  String.raw`to (?:prove|verify) (?:that )?you(?:'re| are) (?:a )?(?:human|not a)|spam ?arrest|boxbe|\btmda\b`,
  String.raw`added to (?:the |my |your )?(?:\S+ )?(?:allowed|approved|white|guest)[- ]?(?:senders? )?list`,
  String.raw`(?:click|follow)[^.\n]{0,60} to (?:ensure|complete|release|approve)[^.\n]{0,30}` +
    '(?:delivery|message|mail)',
  'only from senders (?:that )?i have approved|antispam uol|confirme (?:o seu endere[çc]o|su direcci[óo]n)',
  String.raw`your (?:message|e-?mail) (?:is|has been) (?:waiting|held|quarantined)[^.\n]{0,80}` +
    '(?:confirm|approv|click|reply)',
)
