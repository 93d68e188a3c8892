/**
 * Failure texts in languages other than English, used if no English pattern matches: German, French, Spanish,
 * Portuguese, Italian, Dutch, Danish, Norwegian, Swedish, Finnish, Polish, Czech, Hungarian, Romanian, Greek, Russian,
 * Ukrainian, Turkish, Japanese, Chinese and Korean. Accents may have been lost in transit. Languages without spaces
 * have no word boundaries.
 */
import type { FailurePattern } from './failure-patterns.ts'
import { anyOf, group } from './text-patterns.ts'

/** The end of a word. `\b` does not treat letters with accents as word characters. */
const WORD_END = '(?![a-zà-ÿ])'

/** Words for a recipient: German, Romance languages, Dutch, Scandinavian languages, Polish and Czech, Turkish. */
const ADDRESSEE =
  group(
    String.raw`benutzer|nutzer|empf[äa]e?nger\w*|adressat\w*|postfach|konto|(?:mail-?)?adresse`,
    'destinataire|utilisateur|compte|bo[îi]te',
    'usuario|usu[áa]rio|destinat[áa]rio|cuenta|conta|buz[óo]n|casilla|caixa|direcci[óo]n|endere[çc]o',
    'utente|casella|indirizzo',
    'gebruiker|ontvanger|adres|postbus',
    String.raw`mottagare\w*|modtager\w*|mottaker\w*|anv[äa]ndare\w*|bruger\w*|bruker\w*`,
    String.raw`u[żz]ytkownik\w*|kont[au]|skrzynk\w+|odbiorc\w+|u[žz]ivatel\w*|adres[áa]t\w*`,
    String.raw`kullan[ıi]c[ıi]\w*|al[ıi]c[ıi]\w*|hesap`,
    'mailbox|account|e-?mail',
  ) + WORD_END

/** Words for an address in notices of Exchange, which uses the language of its organisation. */
const ADDRESS = group(
  'direcci[óo]n|endere[çc]o|indirizzo',
  String.raw`e-?post\w*|e-?mail\w*|mail\w*`,
  String.raw`adress?e?\w*|adres\w*|destinatari\w*|adresat\w*`,
)

/** Words for an address that does not exist, one language a line where they differ. */
const DOES_NOT_EXIST = group(
  String.raw`(?:un|on)bekannt\w*|ung[üu]e?ltig|(?:existiert|gibt es|besteht|bestaat) (?:\S+ )?ni(?:ch|e)t`,
  'nicht (?:mehr )?(?:gefunden|bekannt|vorhanden|existent|g[üu]e?ltig|zugeordnet)',
  "inconnue?|inexist[ae]nte?|n['’]exist[ae]nt? (?:pas|plus)|n['’]existe (?:pas|plus)|invalide|introuvable",
  'non (?:reconnue?|trouv[ée]e?|recens[ée]e?)',
  'no (?:existe|(?:fue |est[áa] |es )?(?:encontrad[oa]|registrad[oa]|v[áa]lid[oa]))',
  'descon(?:ocid|hecid)[oa]|inv[áa]lid[oa]',
  'n[ãa]o (?:existe|(?:foi |[ée] )?(?:encontrad[oa]|localizad[oa]|v[áa]lid[oa]))',
  'inesistente|sconosciut[oa]|errat[oa]|non (?:[èe] )?(?:esiste|trovat[oa]|valid[oa])',
  'onbekend|niet (?:gevonden|bekend)|ongeldig',
  'finns inte|findes ikke|finnes ikke|ok[äa]nd|ukend[te]*|ukjent',
  String.raw`nie istnieje|nieznan\w+|nie zosta[łl]\w* znalezion\w+`,
  String.raw`neexistuje|nezn[áa]m\w+`,
  'bulunamad[ıi]|bilinmiyor|mevcut de[ğg]il|ge[çc]ersiz',
)

const soft = (name: string, ...alternatives: readonly string[]): FailurePattern => ({
  class: name,
  isHard: false,
  pattern: anyOf(...alternatives),
})
const hard = (name: string, ...alternatives: readonly string[]): FailurePattern => ({
  class: name,
  isHard: true,
  pattern: anyOf(...alternatives),
})

/** The first match wins. */
export const LOCALISED_FAILURE_PATTERNS: readonly FailurePattern[] = [
  soft('spam', String.raw`спам|垃圾|スパム|迷惑メール|스팸|\bindesejad[oa]\b|\bno deseado\b|\bpourriel`),
  soft(
    'mailbox-full',
    String.raw`(?:postfach|mailbox|konto)[^.\n]{0,40}\b(?:voll|[üu]e?berf[üu]e?llt)\b|speicherplatz|zu ?viele mails`,
    'kontingent',
    String.raw`(?:bo[îi]te|messagerie|compte)[^.\n]{0,60}\b(?:pleine?|satur[ée]e?)\b|quota d[ée]pass`,
    'espace (?:disque )?insuffisant',
    String.raw`(?:buz[óo]n|casilla|cuenta|bandeja|caixa|conta)[^.\n]{0,60}\b` +
      String.raw`(?:llen[oa]|chei[oa]|lotad[oa]|sin espacio)${WORD_END}`,
    String.raw`(?:cuota|quota|cota|espacio|espa[çc]o|limite|l[íi]mite)[^.\n]{0,40}\b` +
      '(?:excedid[oa]|superad[oa]|esgotad[oa]|insuficiente|lotad[oa])',
    String.raw`(?:casella|spazio|quota)[^.\n]{0,60}\b(?:pien[ao]|satur[ao]|superat[ao]|esaurit[ao]|insufficiente)` +
      WORD_END,
    String.raw`(?:postbus|mailbox|postvak)[^.\n]{0,30}\bvol\b`,
    String.raw`(?:postl[åa]da|postkasse|inkorg)\w*[^.\n]{0,30}\bfull[dt]?\b`,
    String.raw`(?:skrzynk\w+|konto)[^.\n]{0,40}(?:pe[łl]n|przepe[łl]nion|przekroczon)|schr[áa]nka[^.\n]{0,30}pln[áa]`,
    String.raw`kota[^.\n]{0,30}a[şs][ıi]ld[ıi]`,
    String.raw`(?:ящик|квот|объ[её]м)[^.\n]{0,60}(?:переполн|полон|заполнен|превыш|исчерпан)|переполнен`,
    String.raw`(?:容量|保存)[^。\n]{0,30}(?:超え|超過|オーバー|不足)|いっぱい|一杯で|満杯|(?:메일함|용량|저장)[^.\n]{0,30}(?:초과|가득|부족|찼)`,
    String.raw`(?:邮箱|信箱|郵箱|空间|空間|容量|配额|配額)[^。\n]{0,20}(?:已?满|已?滿|不足|超)`,
  ),
  soft(
    'sender-refused',
    String.raw`\b(?:autoris[ée]e?s?|permisos?|permiss[ãa]o|berechtig\w*|autorizzat[oa]|toestemming|uprawnie\w+)` +
      WORD_END,
    'разрешени|權限|权限|権限|권한',
  ),
  soft('recipient-filter', '受信拒否|受信を拒否|受信制限|ドメイン指定|指定受信|拒否設定|拒收'),
  soft(
    'mailbox-disabled',
    String.raw`\b` +
      group(
        'deaktiviert|gesperrt|stillgelegt|d[ée]sactiv[ée]e?s?|suspendue?s?|bloqu[ée]e?s?|suspendid[oa]',
        'deshabilitad[oa]|desactivad[oa]|desativad[oa]|bloquead[oa]|inactiv[oa]|inativ[oa]|ha expirado|expirou',
        String.raw`disabilitat[oa]|disattivat[oa]|sospes[oa]|bloccat[oa]|geblokkeerd|gedeactiveerd|zablokowan\w+`,
        String.raw`nieaktywn\w+`,
      ) +
      WORD_END,
    'заблокирован|отключ[её]н|неактив|一時停止|停止中|停用|禁用|冻结|凍結|锁定|鎖定|过期|過期|휴면|정지',
  ),
  soft(
    'policy',
    String.raw`\b` +
      group(
        'abgelehnt|verweigert|zur[üu]e?ckgewiesen|nicht (?:erlaubt|zugelassen|gestattet)|refus[ée]e?|rejet[ée]e?',
        'interdite?|rechazad[oa]|denegad[oa]|no permitid[oa]|rejeitad[oa]|negad[oa]|rifiutat[oa]|respint[oa]',
        String.raw`geweigerd|odrzucon\w+`,
      ) +
      WORD_END,
    'отклон|отказано|запрещ|黑名单|黑名單|拒绝|拒絕|频率|頻率|限制|거부|차단',
  ),
  hard(
    'no-such-user',
    // "unknown" before "user", then "user" before "unknown"
    String.raw`\b` +
      group(
        'unbekannte[rsn]?|ung[üu]e?ltige[rsn]?|unzustellbare|kein(?:e[nr]?)? (?:solche[rs]?|passende[rs]?)|onbekende',
        'geen (?:dergelijke |zodanige )?|no existe (?:el|la|este|esta|tal|ning[úu]n)',
        'n[ãa]o existe (?:o|a|este|esta|tal)|nessun|aucune?|ok[äa]nd|ukendte?|ukjente?|nie ma (?:takiego|takiej)',
        'nezn[áa]m[ýyáaé]+',
      ) +
      String.raw`\s*${ADDRESSEE}`,
    String.raw`\b${ADDRESSEE}[^.\n]{0,60}?[^\w.\n]${DOES_NOT_EXIST}`,
    String.raw`(?:пользовател|получател|адрес|ящик|аккаунт)[^.\n]{0,60}` +
      '(?:не (?:найден|существует|зарегистрирован|известен)|неизвест|отсутствует)',
    // "not found" before "address", then "address" before "not found"
    group(
      'no se (?:ha )?(?:encontr[óo]|encontrado|pudo encontrar)',
      'n[ãa]o (?:foi poss[íi]vel encontrar|foi encontrad[oa])|impossibile trovare',
      '(?:gick inte|gikk ikke|kunne ikke|kan ikke|kan inte) (?:att )?(?:hitta|finde|finne)',
      'nie (?:mo[żz]na|uda[łl]o si[ęe]) (?:odnale[źz][ćc]|znale[źz][ćc])|nelze naj[íi]t',
      'konnte nicht gefunden werden:|introuvable ?:',
    ) + String.raw`[^.\n]{0,40}\b${ADDRESS}`,
    String.raw`\b${ADDRESS}[^.\n]{0,40}\b` +
      group(
        'bulunamad[ıi]|kunne ikke bli funnet|blev ikke fundet|kunde inte hittas|nem tal[áa]lhat[óo]',
        'nu (?:a fost g[ăa]sit[ăa]?|exist[ăa])|ei l[öo]ydy|ei ole olemassa',
      ),
    String.raw`(?:k[äa]ytt[äa]j[äa]\S{0,3}|vastaanottaja\S{0,3}|osoite\S{0,3}|tili[äa]?) (?:\S+ )?ei ` +
      '(?:ole olemassa|l[öo]ydy|tunneta)',
    'tuntematon (?:k[äa]ytt[äa]j[äa]|vastaanottaja|osoite)',
    String.raw`(?:felhaszn[áa]l[óo]|c[íi]mzett|postafi[óo]k|e-?mail c[íi]m) (?:\S+ )?nem ` +
      '(?:l[ée]tezik|tal[áa]lhat[óo])',
    'ismeretlen (?:felhaszn[áa]l[óo]|c[íi]mzett)',
    String.raw`(?:utilizator\w*|destinatar\w*|adres[ae]\w*|c[ăa]su[țt]a\S*) (?:\S+ )?nu ` +
      '(?:exist[ăa]|a fost g[ăa]sit)',
    'utilizator necunoscut',
    String.raw`(?:παραλήπτης|χρήστης|διεύθυνση|λογαριασμός)[^.\n]{0,40}δεν (?:υπάρχει|βρέθηκε)`,
    'άγνωστος (?:παραλήπτης|χρήστης)',
    String.raw`(?:користувач|одержувач|адрес|скриньк)[^.\n]{0,40}не (?:знайден|існує|зареєстрован)`,
    String.raw`невідом\S{1,3} (?:користувач|одержувач|адрес)`,
    String.raw`(?:нет такого|неизвестн\S{2,3}|несуществующ\S{2,3}) (?:пользовател|получател|адрес|ящик)`,
    String.raw`(?:宛先|ユーザ|アドレス|アカウント|受信者|受取人|メールボックス)[^。\n]{0,40}` +
      '(?:存在し|見つかりません|見つかりませ|不明|誤り|間違|ございません|ありません|無効|登録されてい)',
    String.raw`(?:用户|用戶|收件人|收件者|[帐账帳][号户號戶]|邮箱|郵箱|信箱|邮件地址|郵件地址)[^。\n]{0,20}(?:不存在|不正确|不正確|无效|無效|未找到|找不到|没有找到|有误|错误)`,
    '(?:找不到|没有|沒有|无此|無此|查无|查無)(?:该|該|此|这个|這個)?(?:用户|用戶|收件人|收件者|[帐账帳][号户號戶]|邮箱|郵箱|信箱)',
    String.raw`(?:사용자|수신자|수신인|주소|계정|메일함)[^.\n]{0,30}(?:없|존재하지|찾을 수|잘못)|존재하지 않는`,
  ),
]
