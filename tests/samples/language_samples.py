"""A few sentences in many languages, long enough to be recognised."""

# ruff: noqa: E501 - one sentence goes on where the last one ends

TEXTS = {
    "en": "The old library at the end of the street was built by people who had never seen the sea. They read what the "
    "sailors had written about it, and they put all of these letters into the great hall, where everybody could find "
    "them. When the first ship came up the river, there was nobody in the town who did not know what it was.",
    "de": "Die alte Bibliothek am Ende der Straße wurde von Menschen gebaut, die nie das Meer gesehen hatten. Sie lasen, "
    "was die Seeleute darüber geschrieben hatten, und legten alle diese Briefe in den großen Saal, wo jeder sie finden "
    "konnte. Als das erste Schiff den Fluss heraufkam, gab es niemanden in der Stadt, der nicht wusste, was es war.",
    "fr": "La vieille bibliothèque au bout de la rue a été construite par des gens qui n'avaient jamais vu la mer. Ils "
    "lisaient ce que les marins en avaient écrit, et ils mettaient toutes ces lettres dans la grande salle, où chacun "
    "pouvait les trouver. Quand le premier bateau est arrivé, il n'y avait personne dans la ville qui ne le connût pas.",
    "es": "La vieja biblioteca al final de la calle fue construida por personas que nunca habían visto el mar. Leían lo "
    "que los marineros habían escrito sobre él, y ponían todas estas cartas en la gran sala, donde todos podían "
    "encontrarlas. Cuando el primer barco llegó por el río, no había nadie en la ciudad que no supiera lo que era.",
    "it": "La vecchia biblioteca alla fine della strada fu costruita da persone che non avevano mai visto il mare. "
    "Leggevano quello che i marinai ne avevano scritto, e mettevano tutte queste lettere nella grande sala, dove "
    "ognuno poteva trovarle. Quando la prima nave arrivò, non c'era nessuno nella città che non sapesse che cosa era.",
    "pt": "A velha biblioteca no fim da rua foi construída por pessoas que nunca tinham visto o mar. Elas liam o que os "
    "marinheiros tinham escrito sobre ele, e colocavam todas estas cartas na grande sala, onde todos podiam "
    "encontrá-las. Quando o primeiro navio chegou pelo rio, não havia ninguém na cidade que não soubesse o que era.",
    "nl": "De oude bibliotheek aan het einde van de straat werd gebouwd door mensen die nooit de zee hadden gezien. Zij "
    "lazen wat de zeelieden daarover hadden geschreven, en zij legden al deze brieven in de grote zaal, waar iedereen "
    "ze kon vinden. Toen het eerste schip kwam, was er niemand in de stad die niet wist wat het was.",
    "pl": "Stara biblioteka na końcu ulicy została zbudowana przez ludzi, którzy nigdy nie widzieli morza. Czytali to, co "
    "żeglarze o nim napisali, i kładli wszystkie te listy w wielkiej sali, gdzie każdy mógł je znaleźć. Kiedy "
    "pierwszy statek przypłynął rzeką, nie było w mieście nikogo, kto by nie wiedział, co to jest.",
    "ru": "Старая библиотека в конце улицы была построена людьми, которые никогда не видели моря. Они читали то, что о нём "
    "написали моряки, и складывали все эти письма в большом зале, где каждый мог их найти. Когда по реке пришёл первый "
    "корабль, в городе не было никого, кто бы не знал, что это такое.",
    "tr": "Sokağın sonundaki eski kütüphane, denizi hiç görmemiş olan insanlar tarafından yapıldı. Denizcilerin onun "
    "hakkında yazdıklarını okudular ve bütün bu mektupları herkesin bulabileceği büyük salona koydular. İlk gemi nehirden "
    "geldiği zaman, şehirde onun ne olduğunu bilmeyen hiç kimse yoktu, çünkü her şey daha önce ve çok iyi anlatılmıştı.",
    "el": "Η παλιά βιβλιοθήκη στο τέλος του δρόμου χτίστηκε από ανθρώπους που δεν είχαν δει ποτέ τη θάλασσα. Διάβαζαν αυτά "
    "που είχαν γράψει οι ναυτικοί για αυτήν, και έβαζαν όλα αυτά τα γράμματα στη μεγάλη αίθουσα.",
    "ar": "بُنِيَت المكتبة القديمة في نهاية الشارع من قبل أناس لم يروا البحر قط. كانوا يقرؤون ما كتبه البحارة عنه، "
    "وكانوا يضعون كل هذه الرسائل في القاعة الكبيرة حيث كان كل واحد يستطيع أن يجدها. وعندما جاءت السفينة الأولى إلى "
    "المدينة لم يكن هناك أحد لا يعرف ما هي، لأن كل شيء كان قد قيل عنها من قبل في هذه الرسائل.",
    "he": "הספרייה הישנה בסוף הרחוב נבנתה על ידי אנשים שלא ראו את הים מעולם. הם קראו את מה שכתבו עליו המלחים.",
    "hi": "सड़क के अंत में पुराना पुस्तकालय उन लोगों ने बनाया था जिन्होंने कभी समुद्र नहीं देखा था। वे वह पढ़ते थे जो "
    "नाविकों ने उसके बारे में लिखा था, और वे इन सभी पत्रों को बड़े कमरे में रखते थे जहाँ हर कोई उन्हें पा सकता था। जब पहला "
    "जहाज नदी से आया तो शहर में कोई ऐसा नहीं था जो यह न जानता हो कि वह क्या है।",
    "ko": "거리 끝에 있는 오래된 도서관은 바다를 한 번도 본 적이 없는 사람들이 지었다. 그들은 선원들이 쓴 것을 읽었다.",
    "ja": "通りの端にある古い図書館は、海を見たことのない人々によって建てられました。彼らは船員が海について書いたものを読み、"
    "すべての手紙を大きな部屋に置きました。最初の船が川を上って来たとき、町にはそれが何であるかを知らない人はいませんでした。",
    "zh": "街道尽头的旧图书馆是由从未见过大海的人们建造的。他们阅读水手们写的关于大海的文章，并把所有这些信件放在大厅里，"
    "每个人都可以在那里找到它们。当第一艘船沿河而来的时候，城里没有人不知道那是什么。",
    "th": "ห้องสมุดเก่าที่ปลายถนนถูกสร้างขึ้นโดยผู้คนที่ไม่เคยเห็นทะเล พวกเขาอ่านสิ่งที่ชาวเรือเขียนเกี่ยวกับทะเล และเก็บจดหมายทั้งหมดไว้ในห้องใหญ่",
    "lo": "ຫໍສະໝຸດເກົ່າຢູ່ປາຍຖະໜົນຖືກສ້າງຂຶ້ນໂດຍຄົນທີ່ບໍ່ເຄີຍເຫັນທະເລ ພວກເຂົາອ່ານສິ່ງທີ່ຊາວເຮືອຂຽນກ່ຽວກັບທະເລ",
    "km": "បណ្ណាល័យចាស់នៅចុងផ្លូវត្រូវបានសាងសង់ដោយមនុស្សដែលមិនធ្លាប់ឃើញសមុទ្រ ពួកគេអានអ្វីដែលអ្នកនេសាទបានសរសេរ",
    "my": "လမ်းအဆုံးရှိစာကြည့်တိုက်ဟောင်းကိုပင်လယ်ကိုမမြင်ဖူးသောလူများကတည်ဆောက်ခဲ့သည်။",
}
